"""What was found for texts before: words repeat. A change costs nothing here, and spares what it does not concern."""

from __future__ import annotations

from collections import deque

from pointsman.matching.terms.live_wild import fits

MOST = 20_000
"""Texts of one key that are known at a time."""
LONGEST = 64
"""Characters of a text, and numbers found for it, at most."""
SPARED = 16
"""So many changes may come before something known is found out anew."""


class KnownTexts:
    """Which patterns with wildcards match a text, if that is known and still true; not safe between threads."""

    __slots__ = ("_changes", "_found", "_version")

    def __init__(self) -> None:
        self._version = 0
        self._changes: deque[str] = deque(maxlen=SPARED)
        self._found: dict[str, tuple[int, list[int]]] = {}

    def change(self, pattern: str) -> None:
        """A pattern came or went."""
        self._version += 1
        self._changes.append(pattern)

    def get(self, text: str) -> list[int] | None:
        """What was found; None if that is not known. Not to be changed."""
        known = self._found.get(text)
        if known is None:
            return None
        behind = self._version - known[0]
        if not behind:
            return known[1]
        if behind > SPARED or any(fits(self._changes[-place], text) for place in range(1, behind + 1)):
            return None
        self._found[text] = (self._version, known[1])
        return known[1]

    def keep(self, text: str, numbers: list[int]) -> None:
        """What was found just now."""
        if len(text) > LONGEST or len(numbers) > LONGEST:
            return
        if len(self._found) >= MOST:
            self._found.clear()
        self._found[text] = (self._version, numbers)
