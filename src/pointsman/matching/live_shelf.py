"""The part of a live index that holds the patterns of one dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pointsman.matching.live_node import TrieNode, Values
from pointsman.matching.live_prefixes import Prefixes
from pointsman.matching.live_read import make_reader
from pointsman.matching.live_trie import Ending, Path, path_of, prune, put
from pointsman.matching.live_walk import walk_below_literal, walk_freely
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.pattern import Pattern

FEW = 16
"""Values up to this number are copied at each change; more are shared with the readers."""


class Shelf:
    """Exact patterns in a dict by their folded text, all others in a trie; and a register of all, for the writers.

    ``collect`` is for any thread, at any time; everything else is for the holder of the writers' lock.
    """

    __slots__ = (
        "_exact",
        "_prefixes",
        "_register",
        "_root",
        "_spellings",
        "_winding",
        "dialect",
        "globs",
        "nodes",
        "pairs",
        "read",
    )

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.read = make_reader(dialect)
        self._register: dict[str, Values] = {}
        # The texts of patterns that were not given as their key.
        self._spellings: dict[tuple[str, Any], str] = {}
        self._exact: dict[str, Values] = {}
        self._root = TrieNode()
        self._prefixes = Prefixes()
        # How many patterns the plain walk would not find.
        self._winding = 0
        self.pairs = self.globs = 0
        self.nodes = 1

    def collect(self, text: str, found: list[Any]) -> bool:
        """Adds the values of the patterns that match; False when the text is no subject of the dialect."""
        tokens = self.read(text)
        if tokens is None:
            return False
        dialect = self.dialect
        values = self._exact.get(text.lower() if dialect.ignores_case else text)
        if values is not None:
            found += values
        # The empty subject has no token; the free walk is right for all that the plain one does.
        if self._winding or not tokens:
            walk_freely(self._root, tokens, text, found)
        elif dialect.hides_dollar and text[0] == "$":
            walk_below_literal(self._root, tokens, dialect.many_minimum, found)
        else:
            self._prefixes.walk(self._root, tokens, dialect.many_minimum, found)
        return True

    def add(self, pattern: Pattern, value: object) -> bool:
        """Adds a pair; False when it was there. Readers see it by one assignment."""
        path = path_of(pattern)
        known = self._register.get(path.key, ())
        if value in known:
            return False
        if not known:
            # Before the pattern is there: from then on a reader must take the walk that finds it.
            self._count(path, 1)
        if pattern.text != path.key:
            self._spellings[path.key, value] = pattern.text
        self.pairs += 1
        if isinstance(known, dict):
            known[value] = None
        else:
            values = (*known, value)
            self._publish(path, pattern, values if len(values) <= FEW else dict.fromkeys(values))
        self._prefixes.forget()
        return True

    def remove(self, pattern: Pattern, value: object) -> None:
        """Takes away a pair that is there. Readers see it by one assignment."""
        path = path_of(pattern)
        known = self._register[path.key]
        self._spellings.pop((path.key, value), None)
        self.pairs -= 1
        if isinstance(known, dict):
            del known[value]
            if len(known) <= FEW:
                self._publish(path, pattern, tuple(known))
        elif len(known) > 1:
            place = known.index(value)
            self._publish(path, pattern, (*known[:place], *known[place + 1 :]))
        else:
            del self._register[path.key]
            self._withdraw(path, pattern)
            self._count(path, -1)
        self._prefixes.forget()

    def _publish(self, path: Path, pattern: Pattern, values: Values) -> None:
        """Lets readers see the values that a pattern has now."""
        self._register[path.key] = values
        if path.ending is Ending.EXACT:
            self._exact[path.key] = values
        else:
            self.nodes += put(self._root, path, pattern, values)

    def _withdraw(self, path: Path, pattern: Pattern) -> None:
        if path.ending is Ending.EXACT:
            del self._exact[path.key]
        else:
            self.nodes -= prune(self._root, path, pattern)

    def _count(self, path: Path, change: int) -> None:
        self.globs += change * path.has_glob
        self._winding += change * path.winds

    def holds(self, pattern: Pattern, value: object) -> bool:
        """Whether a pair is there."""
        return value in self._register.get(path_of(pattern).key, ())

    def all_pairs(self) -> Iterator[tuple[Pattern, Any]]:
        """Every pair, the patterns as they were given."""
        for key, values in self._register.items():
            known: dict[str, Pattern] = {}
            for value in values:
                text = self._spellings.get((key, value), key)
                if text not in known:
                    known[text] = Pattern(text, self.dialect)
                yield known[text], value

    @property
    def patterns(self) -> int:
        """How many patterns there are."""
        return len(self._register)

    @property
    def exact(self) -> int:
        """How many patterns have no wildcard."""
        return len(self._exact)
