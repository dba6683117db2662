"""Matchers: which of all matchers and subject patterns hold for a message; in memory, as of a version of the file.

There are four services, includes and excludes by complete and partial. Those are includes by which subscriptions are
found (their gates); all others, as those in ``excludes``, only help to decide about a subscription that was found.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from pointsman.conditions import Matcher
from pointsman.errors import SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.matching.terms import lexemes
from pointsman.matching.terms.live import LiveTermIndex
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions import live_statements as statements
from pointsman.subscriptions.candidates import is_gate
from pointsman.subscriptions.control import Control, Reader
from pointsman.subscriptions.gates import Leaf
from pointsman.subscriptions.leaf_rows import row_leaf
from pointsman.subscriptions.noting import Noted, recent_between
from pointsman.subscriptions.numbers import LiveNumberIndex
from pointsman.subscriptions.pages import pattern_page
from pointsman.subscriptions.trees import parse_tree, tree_includes

PAGE = 1000
"""Rows that are read at a time."""
MOST_CHANGES = 50_000
"""Of more changes at a time, everything is read anew, which is quicker."""


class Pair:
    """A key of the metadata and its value; all values have a pair of their own, of the key None, for any key."""

    __slots__ = ("found", "key", "values")

    def __init__(self, key: str | None, values: Iterable[str]) -> None:
        self.key = key
        self.values = list(dict.fromkeys(values))
        self.found: dict[Service, list[int]] = {}

    @classmethod
    def all_of(cls, metadata: Mapping[str, str]) -> Iterator[Pair]:
        """The pairs of a message."""
        for key, value in metadata.items():
            yield cls(key, (value,))
        if metadata:
            yield cls(None, metadata.values())


class Service(NamedTuple):
    """One of the four."""

    includes: bool
    partial: bool


SERVICES = tuple(Service(includes, partial) for includes in (True, False) for partial in (False, True))


class Matchers:
    """The matchers and patterns of a file. Not safe between threads."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """What is known is read anew by the next ``refresh``."""
        self.version = -1
        """Of the file, as of which they are known; below 0 if nothing is."""
        self._terms = LiveTermIndex()
        self._numbers = LiveNumberIndex()
        self._patterns: SubjectIndex[int] = SubjectIndex()
        self._gates: set[int] = set()
        self._last_matcher = self._last_pattern = 0

    def refresh(self, reader: Reader, control: Control | None = None) -> None:
        """Takes up what was changed since, in any process; quick if nothing was. ``control`` is what the reader has."""
        control = Control.read(reader) if control is None else control
        if control.version == self.version:
            return
        if not 0 <= self.version <= control.version <= self.version + MOST_CHANGES:
            self.forget()
        # As long as this is not done, nothing is known for certain.
        since, self.version = self.version, -1
        noted = recent_between(control.recent, since, control.version)
        if noted is not None:
            for each in noted:
                self._take(each)
            self._last_matcher, self._last_pattern = control.last_matcher, control.last_pattern
        else:
            if since >= 0:
                self._follow(reader, since, control)
            self._take_up(reader, control)
        self.version = control.version

    def page(self, service: Service, pair: Pair, limit: int, after: int = 0) -> list[int]:
        """The numbers of matchers of a service that hold for a pair: ascending, strictly greater than ``after``.

        An empty page ends them. Complete matchers, and number comparisons, are asked about the value; partial ones
        about each of its lexemes.
        """
        if service not in pair.found:
            self._find(pair, partial=service.partial)
        found = pair.found[service]
        start = bisect_right(found, after) if after else 0
        return found[start : start + limit]

    def patterns(self, subject: str) -> list[int]:
        """The numbers of the subject patterns that match."""
        try:
            return self._patterns.match(subject)
        except SubjectError:
            # No dialect of the patterns has such a subject.
            return []

    def _find(self, pair: Pair, *, partial: bool) -> None:
        found: list[int] = []
        if partial:
            if self._terms.has(pair.key, partial=True):
                texts = dict.fromkeys(text for value in pair.values for text in lexemes(value))
                found = self._terms.find(pair.key, texts, partial=True)
        else:
            found = self._terms.find(pair.key, pair.values, partial=False)
            numbers = self._numbers.find(pair.key, pair.values)
            found = sorted(found + numbers) if numbers else found
        includes: list[int] = []
        excludes: list[int] = []
        for number in found:
            (includes if number in self._gates else excludes).append(number)
        pair.found[Service(True, partial)] = includes
        pair.found[Service(False, partial)] = excludes

    def _take(self, noted: Noted) -> None:
        """What was noted of a change, as ``_follow`` and ``_take_up`` find it in the tables."""
        for row, number in noted.matchers:
            self._add(number, *row)
        self._gates.update(noted.gates)
        for row, number in noted.gone_matchers:
            self._remove(row_leaf(*row), number)
        for pattern, number in noted.patterns:
            self._patterns.add(Pattern(*pattern), number)
        for pattern, number in noted.gone_patterns:
            self._patterns.remove(Pattern(*pattern), number)

    def _take_up(self, reader: Reader, control: Control) -> None:
        """What came since: it has higher numbers than what was known."""
        while self._last_matcher < control.last_matcher:
            rows = list(reader.execute(statements.MATCHERS_AFTER, (self._last_matcher, PAGE)))
            for row in rows:
                self._add(*row)
            self._last_matcher = rows[-1][0] if len(rows) == PAGE else control.last_matcher
        while self._last_pattern < control.last_pattern:
            patterns = pattern_page(reader, self._last_pattern, PAGE)
            for each in patterns:
                self._patterns.add(each.pattern, each.number)
            self._last_pattern = patterns[-1].number if len(patterns) == PAGE else control.last_pattern

    def _follow(self, reader: Reader, since: int, control: Control) -> None:
        """The matchers that came and went since, the patterns that went, and which of those known have become gates.

        A number is never given again, so that it does not matter what came when.
        """
        changes = reader.execute(statements.CHANGES, (since, self._last_matcher))
        for change, number, text, key, kind, opens in changes:
            if change == "forgotten":
                # Something may be gone of which nobody knows: everything is read anew.
                self.forget()
                return
            if change == "used":
                self._open_gates(reader, tree_includes(parse_tree(text)))
            elif change == "new":
                self._add(number, text, key, kind, opens)
            elif change == "matcher":
                self._remove(row_leaf(*parse_tree(text)), number)
            else:
                self._patterns.remove(Pattern(*parse_tree(text)), number)
        self._last_matcher = control.last_matcher

    def _open_gates(self, reader: Reader, numbers: list[int]) -> None:
        for number in numbers:
            known = number in self._gates or number > self._last_matcher
            if not known and is_gate(reader, number):
                self._gates.add(number)

    def _add(self, number: int, text: str | float, key: str, kind: int, opens: int = 0) -> None:
        leaf = row_leaf(text, key, kind)
        if isinstance(leaf, Matcher):
            self._terms.add(leaf, number)
        else:
            self._numbers.add(leaf, number)
        if opens:
            self._gates.add(number)

    def _remove(self, leaf: Leaf, number: int) -> None:
        if isinstance(leaf, Matcher):
            self._terms.remove(leaf, number)
        else:
            self._numbers.remove(leaf, number)
        self._gates.discard(number)
