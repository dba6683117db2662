"""What this process has written lately, for those in it that follow the file: they need not read it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

KEPT = 64
"""Changes that are kept; who is further behind reads the file."""
Change = TypeVar("Change")


class _Entry(NamedTuple, Generic[Change]):
    before: int
    after: int
    change: Change


class Journal(Generic[Change]):
    """The last changes of something whose versions are counted in the file, whoever makes them.

    Who writes notes a change; it is told to others once it is committed. Safe between one thread that writes and many
    that ask.
    """

    def __init__(self) -> None:
        self._noted: list[_Entry[Change]] = []
        self._entries: tuple[_Entry[Change], ...] = ()

    def note(self, before: int, after: int, change: Change) -> None:
        """The transaction takes the version from ``before`` to ``after``."""
        self._noted.append(_Entry(before, after, change))

    def commit(self) -> None:
        """What was noted is in the file."""
        if self._noted:
            self._entries = (*self._entries, *self._noted)[-KEPT:]
            self._noted.clear()

    def undo(self) -> None:
        """What was noted, or a part of it, is not in the file."""
        self._noted.clear()

    def between(self, before: int, after: int) -> Sequence[Change] | None:
        """All that led from one version to a later one; None if somebody else has a part in it, or it is too long ago.

        >>> journal = Journal[str]()
        >>> journal.note(1, 2, "made"), journal.note(2, 4, "changed"), journal.note(5, 6, "deleted")
        (None, None, None)
        >>> journal.between(2, 4)
        >>> journal.commit()
        >>> journal.between(1, 4), journal.between(2, 4), journal.between(2, 6)
        (['made', 'changed'], ['changed'], None)
        """
        found: list[Change] = []
        for entry in reversed(self._entries):
            if entry.after == after:
                found.append(entry.change)
                after = entry.before
                if after == before:
                    return found[::-1]
        return None
