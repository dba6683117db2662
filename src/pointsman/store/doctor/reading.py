"""Reading messages in pages, and around what cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import apsw

Row = tuple[Any, ...]
Read = Callable[[int, int, int], list[Row]]
"""Rows from one number to another, at most so many, in their order; each begins with its number."""
PAGE = 1000
FAILURES = 20_000
"""After so many attempts that failed, what is left is taken for lost."""


class Asked(Protocol):
    """What can be asked: a connection, or a transaction of the queue."""

    def execute(self, statement: str, parameters: Row = ..., /) -> Any:
        """Runs a statement and gives its rows."""


class Unreadable(NamedTuple):
    """Numbers whose rows cannot be read."""

    first: int
    last: int
    exists: bool
    """Whether there is a row for sure, which has a text that is none."""


def each_row(read: Read, first: int, last: int) -> Iterator[Row | Unreadable]:
    """The rows, and between them what cannot be read; in the order of the numbers, a page in memory at a time."""
    ranges, failures = [(first, last)], 0
    while ranges:
        low, high = ranges.pop()
        try:
            rows = read(low, high, PAGE)
        except (apsw.Error, UnicodeDecodeError) as error:
            failures += 1
            if low == high or failures > FAILURES:
                yield Unreadable(low, high, isinstance(error, UnicodeDecodeError) and low == high)
            else:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
            continue
        yield from rows
        if len(rows) == PAGE and rows[-1][0] < high:
            ranges.append((rows[-1][0] + 1, high))


def joined(found: list[Unreadable]) -> list[tuple[int, int]]:
    """The ranges of numbers, those that touch made one."""
    ranges: list[tuple[int, int]] = []
    for each in found:
        if ranges and ranges[-1][1] + 1 == each.first:
            ranges[-1] = (ranges[-1][0], each.last)
        else:
            ranges.append((each.first, each.last))
    return ranges
