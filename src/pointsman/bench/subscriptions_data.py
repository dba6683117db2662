"""Subscriptions and messages for the benchmark of wildcard subscriptions, the same at every run.

Each subscription has a matcher of its own: three in ten with wildcards, for a value or for a lexeme, under one of five
keys. Some have a second one, some need a frequent word beside it, and some exclude one. Messages have all five keys
with 1 to 12 words, as Zipf has them, and some that fulfil matchers; so they reach about as many subscriptions whether
there are ten thousand or a million.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pointsman.bench.terms_data import (
    KEYS,
    METADATA,
    Message,
    make_matchers,
    make_messages,
    matcher_array,
    vocabulary,
)
from pointsman.matching.terms.model import Matcher

ALONE, TWO, BESIDE, WITHOUT = range(4)
"""One matcher; one of two; one and a frequent word; one and no frequent word."""
SHARES = (0.5, 0.2, 0.2, 0.1)
FREQUENT = 200
"""How many words are frequent."""
SUBJECT = "papers.new"


class Data(NamedTuple):
    """What is measured with."""

    table: Any
    """``subscription_id``, ``includes`` and ``excludes``."""
    messages: list[Message]

    @property
    def metadata(self) -> Any:
        """Of the messages, as a column."""
        return pa.array(self.messages, METADATA)


def make_data(count: int, messages: int, seed: int = 7) -> Data:
    """So many subscriptions, and so many messages for them."""
    matchers, texts = make_matchers(count, seed)
    return Data(subscription_table(matchers, seed), list(make_messages(matchers, texts, messages)))


def subscription_table(matchers: list[Matcher], seed: int = 7) -> Any:
    """A subscription for each matcher."""
    count = len(matchers)
    random = np.random.default_rng(seed)
    kinds = random.choice(len(SHARES), count, p=SHARES)
    pool = matcher_array([*matchers, *_frequent(seed)])
    seconds = np.where(
        kinds == TWO, random.integers(0, count, count), count + random.integers(0, len(pool) - count, count)
    )
    included = np.where((kinds == TWO) | (kinds == BESIDE), 2, 1)
    both = np.column_stack([np.arange(count), seconds])
    return pa.table(
        {
            "subscription_id": pa.array(np.arange(count)),
            "includes": _group(pool, both[np.arange(2) < included[:, None]], included, kinds == BESIDE),
            "excludes": _group(pool, seconds[kinds == WITHOUT], (kinds == WITHOUT).astype(np.int64), kinds < 0),
        }
    )


def _frequent(seed: int) -> list[Matcher]:
    """Frequent words under each key."""
    random = Random(seed)  # noqa: S311 - data, not secrets
    return [Matcher(key, text, True) for key in KEYS for text in random.sample(vocabulary()[:1_000], FREQUENT)]


def _group(pool: Any, chosen: Any, counts: Any, every: Any) -> Any:
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    matchers = pa.ListArray.from_arrays(pa.array(offsets), pool.take(pa.array(chosen)))
    return pa.StructArray.from_arrays([pa.array(every), matchers], ["all", "matchers"])
