"""Matchers and messages for the benchmark of metadata conditions, the same at every run.

Words are made of syllables, so that they share beginnings, ends and middles, as words do. A matcher's words have four
syllables or more, and a message is made to fulfil some matchers, so that the matches of a message depend little on how
many matchers there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa

from pointsman.matching.terms.model import MATCHER, Matcher

KEYS = ("title", "summary", "author", "tags", "source")
SYLLABLES = tuple(first + second for first in "bdfghklmnprstvz" for second in ("a", "e", "i", "o", "u", "en"))
METADATA = pa.map_(pa.string(), pa.string())
WORDS = 50_000
WILDCARDS = 0.3
PARTIAL = 0.5
Message = list[tuple[str, str]]


def word(random: Random, syllables: int) -> str:
    """A word that looks like one."""
    return "".join(random.choices(SYLLABLES, k=syllables))


@cache
def vocabulary() -> list[str]:
    """The words that are in no matcher by intention, the most frequent and shortest first."""
    random = Random(5)  # noqa: S311 - data, not secrets
    return [word(random, 1 + len(str(rank))) for rank in range(WORDS)]


def filler(random: Random) -> str:
    """A word as Zipf has them: a few again and again, most hardly ever."""
    return vocabulary()[int(30 * random.paretovariate(0.9) - 30) % WORDS]


def phrase(random: Random, words: int, own: list[str]) -> str:
    """A text of so many words at the least, the given ones among them in some order."""
    texts = own + [filler(random) for _ in range(words - len(own))]
    random.shuffle(texts)
    return " ".join(texts)


def with_wildcards(random: Random, text: str) -> str:
    """The text with a star or a question mark for a part of it."""
    first = random.randrange(1, len(text) // 5 + 1)
    last = first + random.randrange(1, len(text) // 5 + 1)
    return random.choice(
        (
            text[:-first] + "*",
            "*" + text[first:],
            "*" + text[first : len(text) - first] + "*",
            text[:first] + "?" + text[first + 1 :],
            text[:first] + "*" + text[last:],
        )
    )


def make_matchers(count: int, seed: int = 7) -> tuple[list[Matcher], list[str]]:
    """Distinct matchers, and for each a text that it fits."""
    random = Random(seed)  # noqa: S311 - data, not secrets
    found: dict[Matcher, str] = {}
    while len(found) < count:
        partial = random.random() < PARTIAL
        text = word(random, random.randint(4, 6))
        if not partial:
            text = phrase(random, random.randint(1, 12), [text])
        pattern = with_wildcards(random, text) if random.random() < WILDCARDS else text
        found.setdefault(Matcher(random.choice(KEYS), pattern, partial), text)
    return list(found), list(found.values())


def matcher_array(matchers: list[Matcher]) -> Any:
    """The matchers as an Arrow column."""
    columns = (
        pa.array([matcher.key for matcher in matchers], pa.string()),
        pa.array([matcher.pattern for matcher in matchers], pa.string()),
        pa.array([matcher.partial for matcher in matchers], pa.bool_()),
    )
    return pa.StructArray.from_arrays(columns, [field.name for field in MATCHER])


def make_messages(matchers: list[Matcher], texts: list[str], count: int, seed: int = 11) -> Iterator[Message]:
    """Messages of all five keys with 1 to 12 words, each fulfilling some matchers; no matchers: hardly any."""
    random = Random(seed)  # noqa: S311 - data, not secrets
    by_key: dict[tuple[str | None, bool], list[str]] = {(key, partial): [] for key in KEYS for partial in (False, True)}
    for matcher, text in zip(matchers, texts, strict=True):
        by_key[matcher.key, matcher.partial].append(text)
    for _ in range(count):
        message = []
        for key in KEYS:
            whole, parts = by_key[key, False], by_key[key, True]
            if whole and random.random() < 0.3:
                message.append((key, random.choice(whole)))
                continue
            own = [random.choice(parts) for _ in range(random.randrange(5))] if parts else []
            message.append((key, phrase(random, random.randint(max(1, len(own)), 12), own)))
        yield message


def repeated(messages: list[Message], count: int, seed: int = 13) -> Iterator[Message]:
    """Messages whose values are drawn from those of other messages, a few of them again and again."""
    random = Random(seed)  # noqa: S311 - data, not secrets
    for _ in range(count):
        ranks = [min(int(random.paretovariate(0.8)), len(messages)) - 1 for _ in KEYS]
        yield [messages[rank][number] for number, rank in enumerate(ranks)]
