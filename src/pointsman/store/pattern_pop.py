"""Patterns that nobody subscribed to: answered from the keys that are stored.

Which keys a pattern matches is worked out once and kept up with new keys. Then a few deliveries are looked at in their
order; if none of them has such a key, and there are not many such keys, each key is looked up by its index; otherwise
the looking goes on in order. Where it came to is remembered, so that what was passed over is not looked at again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import takewhile

from pointsman.errors import SubjectError
from pointsman.patterns.nodes import Literal
from pointsman.patterns.pattern import Pattern
from pointsman.store import schema, statements
from pointsman.store.transaction import Connection, Transaction

GLANCE = 256
"""Deliveries that are looked at before keys are looked up."""
SEEK = 1000
"""Keys that are looked up one by one; with more of them, one of the next deliveries is likely to have one."""
KEPT = 64
"""Patterns that are remembered."""
PAGE = 10_000
HIGHEST = "\U0010ffff"
PRIORITIES = range(1, 11)
Position = tuple[int, int]
"""Priority and sequence."""


class Interest:
    """What is known about one pattern."""

    __slots__ = ("_cursors", "_last_key", "_returned", "keys", "pattern", "version")

    def __init__(self, pattern: Pattern, version: int) -> None:
        self.pattern = pattern
        self.version = version
        self.keys: set[int] = set()
        """The numbers of the keys that match."""
        self._last_key = 0
        self._returned = -1
        # For each priority: up to here nothing that is ready has a key that matches.
        self._cursors = dict.fromkeys(PRIORITIES, 0)

    def catch_up(self, connection: Connection | Transaction) -> None:
        """Takes up the keys that are new; the first time, all that begin as the pattern does."""
        if self.pattern.is_literal and not self.pattern.dialect.ignores_case:
            self.keys = {row[0] for row in connection.execute(statements.KEY_FIND, (str(self.pattern),))}
            return
        if not self._last_key:
            self._take_up_all(connection)
        while rows := list(connection.execute(statements.KEYS_AFTER, (self._last_key, PAGE))):
            self.keys.update(number for number, text in rows if self._matches(text))
            self._last_key = rows[-1][0]

    def find(self, transaction: Transaction) -> Position | None:
        """Where the first delivery stands whose key matches."""
        if not self.keys:
            return None
        if self._returned != transaction.returned:
            self._cursors = dict.fromkeys(PRIORITIES, 0)
            self._returned = transaction.returned
        found = self._glance(transaction, GLANCE)
        if found is not None:
            return found
        if len(self.keys) > SEEK:
            return self._glance(transaction, None)
        return min(self._heads(transaction), default=None)

    def _take_up_all(self, connection: Connection | Transaction) -> None:
        prefix = literal_prefix(self.pattern)
        if not prefix:
            return
        last = next(iter(connection.execute(statements.KEY_LAST, ())))[0] or 0
        start = prefix
        while rows := list(connection.execute(statements.KEYS_IN_RANGE, (start, prefix + HIGHEST, PAGE))):
            self.keys.update(number for number, key in rows if self._matches(key))
            start = rows[-1][1] + "\0"
        self._last_key = last

    def _matches(self, key: str) -> bool:
        try:
            return self.pattern.matches(key)
        except SubjectError:
            # A key of the queue's dialect that the pattern's does not have.
            return False

    def _glance(self, transaction: Transaction, limit: int | None) -> Position | None:
        looked = 0
        for priority in PRIORITIES:
            for sequence, key in transaction.execute(statements.READY_SCAN, (priority, self._cursors[priority])):
                if key in self.keys:
                    return priority, sequence
                self._cursors[priority] = sequence
                looked += 1
                if looked == limit:
                    return None
        return None

    def _heads(self, transaction: Transaction) -> Iterator[Position]:
        for key in self.keys:
            yield from transaction.execute(statements.READY_BY_KEY, (key, 1))


def literal_prefix(pattern: Pattern) -> str:
    """What every key that matches begins with; empty if that is not known."""
    if pattern.dialect.ignores_case:
        return ""
    texts = [node.text for node in takewhile(lambda node: isinstance(node, Literal), pattern.nodes)]  # type: ignore[union-attr]
    return pattern.dialect.separator.join(texts)


class Interests:
    """The patterns that were asked for last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Interest] = OrderedDict()
        self._indexed = False

    def known(self, pattern: Pattern, version: int) -> Interest | None:
        """What is known about a pattern, if anything is; ``version`` is that of the stored keys."""
        interest = self._kept.get(_name(pattern))
        return interest if interest is not None and interest.version == version else None

    def keep(self, interest: Interest) -> None:
        """Remembers what is known about a pattern, as the one that was asked for last."""
        text = _name(interest.pattern)
        self._kept[text] = interest
        self._kept.move_to_end(text)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def make_index(self, transaction: Transaction) -> None:
        """Makes the index by key, if it is not there yet."""
        if not self._indexed:
            transaction.execute(schema.READY_BY_KEY)
            self._indexed = True

    def forget(self) -> None:
        """After a change that was undone, what is known may be wrong."""
        self._kept.clear()
        self._indexed = False


def _name(pattern: Pattern) -> str:
    return f"{pattern.dialect.name} {pattern}"
