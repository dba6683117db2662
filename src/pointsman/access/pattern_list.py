"""A list of patterns that is asked at once: which comes first of those that match, and which contain another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pointsman.errors import SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.patterns import Dialect, Pattern, Subject
from pointsman.patterns.nodes import Literal, Many, wildcards_of

ANY_TEXT = "~"
CACHE_SIZE = 1_000


class PatternList:
    """Patterns of one dialect by their position. Safe between threads."""

    __slots__ = ("_index", "patterns")

    def __init__(self, patterns: Sequence[Pattern], dialect: Dialect) -> None:
        self.patterns = tuple(patterns)
        self._index: SubjectIndex[int] = SubjectIndex(dialect, CACHE_SIZE)
        for position, pattern in enumerate(self.patterns):
            self._index.add(pattern, position)

    def first(self, subject: str) -> int | None:
        """The position of the first pattern that matches; raises ``SubjectError`` for what is no subject."""
        return min(self._index.match(subject), default=None)

    def contains(self, pattern: Pattern) -> bool:
        """Whether one of the patterns contains this one."""
        return next(self.containing(pattern), None) is not None

    def containing(self, pattern: Pattern) -> Iterator[int]:
        """The positions of the patterns that contain this one, in no particular order.

        Whatever contains it matches every subject of it, so only those that match one of them are compared.
        """
        subject = sample(pattern)
        candidates = range(len(self.patterns)) if subject is None else self._index.match(subject)
        return (position for position in candidates if self.patterns[position].contains(pattern))


def widest(patterns: Sequence[Pattern], dialect: Dialect) -> list[Pattern]:
    """The patterns without those that another one contains; of equal ones, the first is kept."""
    every = PatternList(patterns, dialect)
    return [
        pattern
        for position, pattern in enumerate(every.patterns)
        if not any(
            other != position and (other < position or not pattern.contains(every.patterns[other]))
            for other in every.containing(pattern)
        )
    ]


def sample(pattern: Pattern) -> str | None:
    """A subject that the pattern matches; None when none is found without a search.

    >>> sample(Pattern("orders.*.>"))
    'orders.~.~'
    """
    captures = [
        (ANY_TEXT,) if isinstance(node, Many) else ANY_TEXT for node in pattern.nodes for _ in range(wildcards_of(node))
    ]
    text = pattern.fill(tuple(captures))
    try:
        return text if pattern.matches(Subject(text, pattern.dialect)) else None
    except SubjectError:
        return None


def plainly_apart(one: Pattern, other: Pattern) -> bool:
    """Whether the two begin with literal tokens that differ, so that no subject can match both."""
    for mine, yours in zip(one.nodes, other.nodes, strict=False):
        if not isinstance(mine, Literal) or not isinstance(yours, Literal):
            return False
        if mine.text != yours.text:
            return True
    return False
