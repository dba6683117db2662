"""One transaction of the queue: what it reads first, what it changes, and what it writes last.

The queue's own time is the clock's, kept from running backwards: when the clock is set back by more than a second, the
difference is added to every time from then on, in every process, so that leases and delays go on as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

from pointsman.store import statements

SECOND = 1_000_000
Row = Sequence[Any]


class Connection(Protocol):
    """What a transaction needs of apsw's connections."""

    in_transaction: bool

    def execute(self, statement: str, parameters: Row = ..., /) -> Any:
        """Runs a statement and gives its rows."""

    def executemany(self, statement: str, parameters: Iterable[Row], /) -> Any:
        """Runs a statement for each of the parameters."""

    def total_changes(self) -> int:
        """How many rows were changed since it was opened."""


class Transaction:
    """What happens in one transaction; not safe between threads, and of no use after its end."""

    __slots__ = (
        "_changes",
        "_changes_before",
        "commits",
        "execute",
        "executemany",
        "is_shifted",
        "keys",
        "leasing",
        "listed",
        "now",
        "returned",
        "sequence",
        "shift",
        "subscriptions",
        "time",
        "unfinished",
        "wake",
    )

    def __init__(self, connection: Connection, clock: Callable[[], float]) -> None:
        self.execute = connection.execute
        self.executemany = connection.executemany
        self._changes = connection.total_changes
        self._changes_before = connection.total_changes()
        (
            self.commits,
            self.sequence,
            self.time,
            self.shift,
            self.unfinished,
            self.subscriptions,
            self.keys,
            self.returned,
            self.listed,
        ) = next(iter(connection.execute(statements.CONTROL_READ, ())))
        now = int(clock() * SECOND) + self.shift
        self.is_shifted = now < self.time - SECOND
        """Whether the clock was found set back: to be written though nothing else is, or the time would stand still."""
        if self.is_shifted:
            self.shift += self.time - now
        self.now: int = max(now, self.time)
        """In microseconds of the queue's time."""
        self.leasing = 0
        """How many rows were changed only to lease deliveries: a transaction of nothing else need not be counted."""
        self.wake = False
        """Whether somebody may be waiting for what it makes ready."""

    @property
    def is_unchanged(self) -> bool:
        """Whether it has changed nothing so far: then what it reads is committed."""
        return self._changes() == self._changes_before

    def is_counted(self, changes: int) -> bool:
        """Whether the next transaction has to know of this one, which changed so many rows.

        One that only leased deliveries it need not, but once a second, so that it knows the time: if it were lost, they
        would be delivered once more.
        """
        return self.is_shifted or changes != self.leasing or (changes > 0 and self.now > self.time + SECOND)

    def list_new(self) -> None:
        """Lists the deliveries of the messages that were put the quick way, which lists none; before all else."""
        if self.listed < self.sequence:
            self.execute(statements.READY_ADD_NEW)
            self.listed = self.sequence

    def first(self, statement: str, parameters: Row = ()) -> Any:
        """The first row; None if there is none."""
        return next(iter(self.execute(statement, parameters)), None)

    def rows(self, statement: str, parameters: Row = ()) -> Iterator[Any]:
        """The rows, as they come."""
        return iter(self.execute(statement, parameters))

    def numbers(self) -> tuple[int, ...]:
        """What ``restore`` takes, to undo a part of the transaction."""
        return (self.sequence, self.unfinished, self.subscriptions, self.keys, self.returned)

    def restore(self, numbers: tuple[int, ...]) -> None:
        """Takes the numbers back to what they were."""
        self.sequence, self.unfinished, self.subscriptions, self.keys, self.returned = numbers

    def finish(self) -> None:
        """Writes what the next transaction reads first; the last thing before the commit."""
        self.commits += 1
        self.listed = self.sequence
        self.execute(
            statements.CONTROL_WRITE,
            (
                self.commits,
                self.sequence,
                self.now,
                self.shift,
                self.unfinished,
                self.subscriptions,
                self.keys,
                self.returned,
            ),
        )
