"""Patterns with a wildcard inside a token (Zato's globs): rare, so they take a path of their own.

They are filed by the literal text before their first wildcard. A subject looks up its own beginnings, of the lengths
that occur, and tries the patterns it finds there; the others are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.matching.columns import Texts
from pointsman.patterns import Pattern, Subject
from pointsman.patterns.automaton import Matcher, make_matcher


class GlobTable:
    """Glob patterns of one dialect, each with the number that a match gives."""

    def __init__(self, patterns: list[Pattern], numbers: list[int]) -> None:
        self._by_prefix: dict[int, dict[str, list[tuple[Matcher, int]]]] = {}
        for pattern, number in zip(patterns, numbers, strict=True):
            text = pattern.dialect.fold(pattern.text)
            prefix = text[: text.index("*")]
            bucket = self._by_prefix.setdefault(len(prefix), {}).setdefault(prefix, [])
            bucket.append((make_matcher(pattern.nodes, pattern.dialect), number))

    def match(self, subject: Subject) -> Iterator[int]:
        """The numbers of the patterns that match."""
        folded = subject.folded
        for length, buckets in self._by_prefix.items():
            for matcher, number in buckets.get(folded[:length], ()):
                if matcher(subject):
                    yield number

    def find(self, rows: Texts, valid: list[int], dialect: str) -> Iterator[tuple[int, int]]:
        """For the rows named, which must be valid subjects: pairs of a row and a number."""
        known: dict[str, list[int]] = {}
        for row in valid:
            text = rows.text(row)
            numbers = known.get(text)
            if numbers is None:
                numbers = known[text] = list(self.match(Subject(text, dialect)))
            for number in numbers:
                yield row, number
