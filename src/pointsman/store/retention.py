"""What is kept of messages that are done, and for how long: pruning in small steps, by whoever uses the queue.

A step looks at one page of what is done, in one transaction. Keys that no message has any more go after as many
messages were pruned as are left, for to find them all messages have to be looked at, a page in each step.
"""

from __future__ import annotations

from collections.abc import Callable

from pointsman.store import statements
from pointsman.store.transaction import SECOND, Transaction

PAGE = 500
"""Messages, or keys, that one step looks at."""
PAUSE = 60 * SECOND
"""Microseconds from when nothing was left to prune until it is looked again."""


class Retention:
    """Prunes what was done longer ago than ``age`` microseconds; nothing if that is None. For who leads the writer."""

    def __init__(self, age: int | None, dedupe: int, clock: Callable[[], float]) -> None:
        self._age = age
        self._dedupe = dedupe
        self._clock = clock
        self._next = 0
        self._after = 0
        self._pruned = 0
        self._sweep: KeySweep | None = None

    @property
    def is_due(self) -> bool:
        """Whether there may be something to do; may be asked at any time."""
        return self._age is not None and self._clock() * SECOND >= self._next

    def step(self, transaction: Transaction) -> None:
        """Does a page of what is due, if anything is."""
        if self._age is None or not self.is_due:
            return
        if self._sweep is not None:
            if self._sweep.step(transaction):
                self._sweep = None
            return
        page = list(transaction.rows(statements.FINISHED_AFTER, (self._after, PAGE)))
        old = [(sequence,) for sequence, time in page if time <= transaction.now - self._age]
        delete(transaction, old, self._dedupe)
        self._pruned += len(old)
        # What is done is so about in the order of putting: behind a page of which nothing is old there is little.
        if len(page) == PAGE and old:
            self._after = page[-1][0]
            return
        transaction.execute(statements.SEEN_FORGET, (transaction.now - self._dedupe,))
        self._after, self._next = 0, int(self._clock() * SECOND) + PAUSE
        first = transaction.first(statements.MESSAGE_FIRST)[0]
        if self._pruned and self._pruned >= (0 if first is None else transaction.sequence - first + 1):
            self._pruned, self._next = 0, 0
            self._sweep = KeySweep()


class KeySweep:
    """Deletes the keys that no message has, in steps between which others may put and prune."""

    def __init__(self) -> None:
        self._used: set[int] = set()
        self._message = 0
        self._key = 0
        self._last: int | None = None

    def step(self, transaction: Transaction) -> bool:
        """Looks at a page of messages, or of keys when it has seen all messages; whether that was all."""
        if self._last is None:
            # Keys that are made from now on are not looked at.
            self._last = transaction.first(statements.KEY_LAST)[0] or 0
        rows = list(transaction.rows(statements.MESSAGE_KEYS, (self._message, PAGE)))
        self._used.update(key for _, key in rows)
        if rows:
            self._message = rows[-1][0]
        if len(rows) == PAGE:
            return False
        keys = [row[0] for row in transaction.rows(statements.KEYS_AFTER, (self._key, PAGE)) if row[0] <= self._last]
        unused = [(key,) for key in keys if key not in self._used]
        if unused:
            transaction.executemany(statements.KEY_DELETE, unused)
            # Whoever remembers the number of a key reads it anew.
            transaction.keys += 1
        if keys:
            self._key = keys[-1]
        return len(keys) < PAGE


def delete(transaction: Transaction, rows: list[tuple[int]], dedupe: int) -> None:
    """Deletes messages that are done; their ids are known for as long as they are to be."""
    noticed = transaction.now - dedupe
    transaction.executemany(statements.SEEN_ADD, ((row[0], noticed) for row in rows))
    for statement in (statements.MESSAGE_DELETE, statements.FINISHED_DELETE, statements.ADDRESSED_DELETE):
        transaction.executemany(statement, rows)
