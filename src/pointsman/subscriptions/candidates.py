"""Subscriptions: who is behind a gate, and what is known of them; in pages, from the file."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw

from pointsman.subscriptions import live_statements as statements
from pointsman.subscriptions.control import Reader


class Found(NamedTuple):
    """A subscription that was found by a gate, and is enabled and not expired."""

    number: int
    id: str
    owner: str
    destinations: str
    """Their names, in JSON."""
    pattern: int | None
    """The number of its subject pattern, which must match if there is one."""
    tree: str | None
    """Its condition over the numbers of matchers, which must hold if there is one."""


class Subscriptions:
    """The subscriptions of a file as of a transaction, at a time in seconds since 1970."""

    def __init__(self, reader: Reader, now: float) -> None:
        self._execute = reader.execute
        self._now = now

    def behind(self, gates: Sequence[int], limit: int) -> Iterator[list[int]]:
        """The numbers of the subscriptions that are found by each of the gates, in pages; none of them is empty.

        The gates are ascending. One statement goes over several of them, as most have few subscriptions.
        """
        packed = array("q", gates)
        gate = after = 0
        while packed:
            bindings = (apsw.carray(packed), gate, after, limit)
            rows = list(self._execute(statements.BEHIND_GATES, bindings))
            if rows:
                yield [subscription for _, subscription in rows]
            if len(rows) < limit:
                return
            gate, after = rows[-1]
            packed = packed[packed.index(gate) :]

    def read(self, numbers: Sequence[int]) -> list[Found]:
        """Those of these numbers that are there, enabled and not expired, in their order."""
        rows = self._execute(statements.SUBSCRIPTIONS, (apsw.carray(array("q", numbers)), self._now))
        return [Found(*row) for row in rows]


def is_gate(reader: Reader, matcher: int) -> bool:
    """Whether subscriptions are found by a matcher.

    By the statement that every message needs: SQLite has that at hand, and would have to plan another one anew.
    """
    return bool(list(reader.execute(statements.BEHIND_GATES, (apsw.carray(array("q", [matcher])), 0, 0, 1))))
