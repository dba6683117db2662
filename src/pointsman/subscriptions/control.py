"""What is counted over all wildcard subscriptions of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from pointsman.store.transaction import Row
from pointsman.subscriptions import statements


class Reader(Protocol):
    """A connection or a transaction, to read from."""

    @property
    def execute(self) -> Any:
        """Runs a statement with its parameters, and gives its rows."""


class Changer(Reader, Protocol):
    """A transaction, to write in."""

    @property
    def executemany(self) -> Any:
        """Runs a statement for each of the parameters."""

    def first(self, statement: str, parameters: Row = ...) -> Any:
        """The first row; None if there is none."""


@dataclass(slots=True)
class Control:
    """The row of ``wildcard_control``; whoever changes something reads it first and writes it last."""

    version: int
    """Counts changes: every one of a subscription has a version of its own, and so has the end of a matcher."""
    subscriptions: int
    """How many there are."""
    last_subscription: int
    last_matcher: int
    last_pattern: int
    """The highest numbers that were ever given; they are never given again."""
    gone: int
    """How many deletions of subscriptions, matchers and patterns are kept."""
    recent: str
    """The last changes, for who has what was before them (see ``noting.py``)."""

    @classmethod
    def read(cls, connection: Reader) -> Control:
        """As the file says now."""
        return cls(*next(iter(connection.execute(statements.CONTROL_READ, ()))))

    def write(self, connection: Reader) -> None:
        """For the next who reads it."""
        last = (self.last_subscription, self.last_matcher, self.last_pattern)
        connection.execute(statements.CONTROL_WRITE, (self.version, self.subscriptions, *last, self.gone, self.recent))

    def next_version(self) -> int:
        """The version of one more change."""
        self.version += 1
        return self.version
