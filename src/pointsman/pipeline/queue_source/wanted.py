"""Which messages the pattern of the options is about."""

from __future__ import annotations

from pointsman.patterns.dialect import Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.pipeline.queue_source.rows import Stored
from pointsman.store import lookup

MOST_KEYS = 100_000
"""How many are remembered."""


class Wanted:
    """Tells the messages whose subjects match a pattern; all if there is none. Raises ``PatternError``."""

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
            if len(self._known) >= MOST_KEYS:
                self._known.clear()
            try:
                found = key is None or lookup.matches(pattern, key.decode())
            except UnicodeDecodeError:
                found = True
            self._known[key] = found
        return found
