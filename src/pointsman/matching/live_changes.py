"""What makes a cached result of the live index out of date: the last changes, each with its number.

The index has a version, the number of its last change. A cached result carries the version from before it was worked
out, so it misses none of the changes up to there; whether a later change concerns it is asked when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.errors import SubjectError
from pointsman.matching.live_trie import literal_beginning
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject


@dataclass(frozen=True, slots=True)
class Change:
    """A pattern that got or lost a value."""

    number: int
    pattern: Pattern
    beginning: str
    """What every subject that the pattern matches begins with, folded."""
    to_all: bool
    """Whether it concerns every subject, because it changed what is a valid one."""


class ChangeLog:
    """The last changes of an index, as many as its size.

    ``record`` is for the holder of the writers' lock and comes after the change itself; the rest is for any thread.
    """

    __slots__ = ("_changes", "version")

    def __init__(self, size: int) -> None:
        self._changes: list[Change | None] = [None] * size
        self.version = 0

    def record(self, pattern: Pattern, *, to_all: bool = False) -> None:
        """Notes a change that has been made, and then moves the version up."""
        number = self.version + 1
        dialect = pattern.dialect
        beginning = dialect.separator.join(node.text for node in literal_beginning(pattern.nodes))
        self._changes[number % len(self._changes)] = Change(number, pattern, beginning, to_all)
        self.version = number

    def spares(self, text: str, since: int, until: int) -> bool:
        """Whether no change after the one version, up to the other, concerns the subject of this text.

        False as well when some of the changes are not known any more.
        """
        changes = self._changes
        folded = text.lower()
        subjects: dict[str, Subject | None] = {}
        for number in range(since + 1, until + 1):
            change = changes[number % len(changes)]
            # A later change may stand in its place.
            if change is None or change.number != number or change.to_all:
                return False
            dialect = change.pattern.dialect
            if (folded if dialect.ignores_case else text).startswith(change.beginning):
                if dialect.name not in subjects:
                    subjects[dialect.name] = _subject(text, dialect)
                subject = subjects[dialect.name]
                if subject is not None and change.pattern.matches(subject):
                    return False
        return True


def _subject(text: str, dialect: Dialect) -> Subject | None:
    try:
        return Subject(text, dialect)
    except SubjectError:
        return None
