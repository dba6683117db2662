"""The messages of the benchmark of the queue: 200 bytes each, with a number of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random

SIZE = 200
KEYS = tuple(f"orders.eu.laptops.{number}" for number in range(1000))
WEIGHTS = tuple(accumulate(1 / rank for rank in range(1, len(KEYS) + 1)))
"""Zipf: the tenth key comes a tenth as often as the first."""


def body(number: int) -> bytes:
    """The body of a message of this number."""
    return b"%0*d" % (SIZE, number)


def messages(start: int, count: int, *, distinct: bool) -> Iterator[tuple[bytes, str]]:
    """Bodies and routing keys: no key twice, or a thousand keys again and again."""
    if distinct:
        keys = [f"orders.eu.laptops.{number}" for number in range(start, start + count)]
    else:
        keys = Random(start).choices(KEYS, cum_weights=WEIGHTS, k=count)  # noqa: S311 - data, no secret
    return zip(map(body, range(start, start + count)), keys, strict=True)
