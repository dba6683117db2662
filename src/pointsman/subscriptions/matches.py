"""What was registered for a message: few in memory, many in a database of the process's own, which spills to disk.

So one message may match a million subscriptions, and memory stays flat.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import count

import apsw

from pointsman.subscriptions import live_statements as statements

FEW = 10_000
"""Numbers that are kept in memory for one message."""


class Spill:
    """A database for what is too much for memory; made when it is first needed, and gone with the process.

    Not safe between threads.
    """

    def __init__(self) -> None:
        self._numbers = count(1)

    @cached_property
    def connection(self) -> apsw.Connection:
        """SQLite keeps a database without a name in a temporary file of its own, once it outgrows its cache."""
        connection = apsw.Connection("")
        # To the end: a statement that gives a row stops there otherwise.
        list(connection.execute(statements.REGISTERED))
        return connection

    def next_number(self) -> int:
        """A number for one more message."""
        return next(self._numbers)

    def close(self) -> None:
        """Gives back what is held."""
        if "connection" in self.__dict__:
            self.connection.close()
            del self.connection


class Matches:
    """The subscriptions that are registered for one message."""

    def __init__(self, spill: Spill, few: int = FEW) -> None:
        self._spill = spill
        self._few = few
        self._kept: set[int] = set()
        self._sorted: list[int] | None = None
        self._message = 0
        """Its number in the database; 0 while all are in memory."""

    def register(self, numbers: Iterable[int]) -> None:
        """Registers matches; those that are registered already count once."""
        self._kept.update(numbers)
        self._sorted = None
        if self._kept and (len(self._kept) > self._few or self._message):
            self._write()

    def page(self, limit: int, after: int = 0) -> list[int]:
        """Their numbers: ascending, strictly greater than ``after``; an empty page ends them."""
        if self._message:
            bindings = (self._message, after, limit)
            return [row[0] for row in self._spill.connection.execute(statements.REGISTERED_AFTER, bindings)]
        if self._sorted is None:
            self._sorted = sorted(self._kept)
        start = bisect_right(self._sorted, after) if after else 0
        return self._sorted[start : start + limit]

    def forget(self) -> None:
        """They are not needed any more."""
        self._kept.clear()
        self._sorted = None
        if self._message:
            self._spill.connection.execute(statements.REGISTERED_FORGET, (self._message,))
            self._message = 0

    def _write(self) -> None:
        self._message = self._message or self._spill.next_number()
        packed = array("q", sorted(self._kept))
        self._spill.connection.execute(statements.REGISTER, (self._message, apsw.carray(packed)))
        self._kept.clear()
