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


class OutOfOrderError(Exception):
    """Rows came that were not asked for."""


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
            rows = _in_order(read(low, high, PAGE), low, high)
        except (apsw.Error, UnicodeDecodeError, OutOfOrderError) as error:
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


def _in_order(rows: list[Row], low: int, high: int) -> list[Row]:
    """The same. Raises for rows that were not asked for: a damaged page can lead back to where one has been."""
    last = low - 1
    for row in rows:
        if not last < row[0] <= high:
            raise OutOfOrderError
        last = row[0]
    return rows
