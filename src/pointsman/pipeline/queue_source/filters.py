"""What of the file need not be read: what Spark has pushed down, and what the pattern of the options leaves out."""

from __future__ import annotations

from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from pointsman.patterns.dialect import Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.pipeline.queue_source.rows import Stored
from pointsman.store import lookup


class Bounds:
    """Which numbers, and which subject, are wanted."""

    __slots__ = ("first", "last", "subject")

    def __init__(self) -> None:
        self.first = 0
        self.last = (1 << 63) - 1
        self.subject: str | None = None

    def take(self, given: Filter) -> bool:
        """Takes up a filter; False for one that Spark is to apply itself."""
        match given:
            case IsNotNull(("sequence",) | ("subject",)):
                pass
            case EqualTo(("subject",), str() as subject) if self.subject in (None, subject):
                self.subject = subject
            case EqualTo(("sequence",), int() as number):
                self._narrow(number, number)
            case GreaterThan(("sequence",), int() as number):
                self._narrow(number + 1, self.last)
            case GreaterThanOrEqual(("sequence",), int() as number):
                self._narrow(number, self.last)
            case LessThan(("sequence",), int() as number):
                self._narrow(self.first, number - 1)
            case LessThanOrEqual(("sequence",), int() as number):
                self._narrow(self.first, number)
            case _:
                return False
        return True

    def _narrow(self, first: int, last: int) -> None:
        self.first, self.last = max(self.first, first), min(self.last, last)


class Wanted:
    """Tells the messages whose subjects match a pattern. Raises ``PatternError``."""

    def __init__(self, pattern: str | None, dialect: Dialect) -> None:
        self._pattern = None if pattern is None else Pattern(pattern, dialect)
        self._known: dict[bytes | None, bool] = {}

    def among(self, page: list[Stored]) -> list[Stored]:
        """Those of a page; one whose subject cannot be read is damaged, and among them."""
        pattern = self._pattern
        return page if pattern is None else [each for each in page if self._matches(pattern, each.key)]

    def _matches(self, pattern: Pattern, key: bytes | None) -> bool:
        found = self._known.get(key)
        if found is None:
            try:
                found = key is None or lookup.matches(pattern, key.decode())
            except UnicodeDecodeError:
                found = True
            self._known[key] = found
        return found
