"""Whether patterns together match all that one pattern matches.

A wildcard of the one pattern is read as a token (or a character) that no pattern names. That is enough: whatever
matches a subject with such a token matches it with any other token in that place, too. So only the lengths of what
wildcards for many stand for have to be tried, and all states that the other patterns can be in are kept at once. The
search is over pairs of a state of the one pattern and such a set of states, of which there are finitely many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pointsman.patterns import Pattern
from pointsman.patterns.nodes import Literal, Many, Nodes, One, has_glob
from pointsman.patterns.realizable import realizable
from pointsman.patterns.track import ONE, Loop, Step, Track, lay

MOST_PAIRS = 10_000
"""A search that meets more pairs of states is given up."""


def covering(pattern: Pattern, others: Sequence[Pattern]) -> list[int] | None:
    """The positions of patterns that together match all that the pattern matches; None when all of them do not.

    A single one is found, if there is one, and of several none could be left out. Exact, apart from a search given up
    after ``MOST_PAIRS`` pairs of states, which counts as None. All are of one dialect.
    """
    for position, other in enumerate(others):
        if other.contains(pattern):
            return [position]
    if len(others) < 2 or not covers(others, pattern):
        return None
    kept = list(range(len(others)))
    for position in range(len(others)):
        rest = [each for each in kept if each != position]
        if covers([others[each] for each in rest], pattern):
            kept = rest
    return kept


def covers(others: Sequence[Pattern], pattern: Pattern) -> bool:
    """Whether the others together match every subject that the pattern matches; False when the search is given up."""
    dialect = pattern.dialect
    parts = realizable(pattern.nodes, dialect)
    separator = dialect.separator if any(map(has_glob, [*parts, *(each.nodes for each in others)])) else None
    for part in parts:
        seen = [each.nodes for each in others if not (dialect.hides_dollar and _hides(each.nodes, part))]
        if not _Together([lay(nodes, separator) for nodes in seen], separator).cover(lay(part, separator)):
            return False
    return True


def _hides(wide: Nodes, narrow: Nodes) -> bool:
    """MQTT: a leading wildcard passes over subjects that begin with ``$``."""
    first = narrow[0]
    return isinstance(wide[0], One | Many) and isinstance(first, Literal) and first.text.startswith("$")


class _Together:
    """Several tracks walked at once: their states, one track after the other, are the bits of one integer."""

    def __init__(self, tracks: Sequence[Track], separator: str | None) -> None:
        self.separator = separator
        self.literals: dict[str, int] = {}
        self.one = self.across = self.within = self.optional = self.ends = 0
        starts = offset = 0
        for track in tracks:
            starts |= 1 << offset
            for index, step in enumerate(track.steps, offset):
                if isinstance(step, str):
                    self.literals[step] = self.literals.get(step, 0) | 1 << index
                else:
                    self.one |= 1 << index
            for index, loop in enumerate(track.loops, offset):
                self.across |= (loop is Loop.ACROSS) << index
                self.within |= (loop is Loop.WITHIN) << index
            self.optional |= sum(1 << offset + index for index in track.optional)
            self.ends |= sum(1 << offset + index for index in track.ends)
            offset += len(track.loops)
        self.start = self.enter(starts)

    def enter(self, states: int) -> int:
        return states | (states & self.optional) << 1

    def read(self, states: int, symbol: str | Step) -> int:
        """The states after a symbol; ``ONE`` is one that no track names."""
        steps = self.one | (self.literals.get(symbol, 0) if isinstance(symbol, str) else 0)
        stay = self.across if symbol == self.separator else self.across | self.within
        return self.enter((states & steps) << 1) | states & stay

    def cover(self, track: Track) -> bool:
        """Whether every walk of the track ends where one of these may end."""
        waiting = [(state, self.start) for state in _entered(track, 0)]
        met = set(waiting)
        while waiting:
            state, states = waiting.pop()
            if not states or (state in track.ends and not states & self.ends) or len(met) > MOST_PAIRS:
                return False
            for symbol, following in _moves(track, state):
                pair = following, self.read(states, symbol)
                if pair not in met:
                    met.add(pair)
                    waiting.append(pair)
        return True


def _moves(track: Track, state: int) -> Iterator[tuple[str | Step, int]]:
    if track.loops[state] is not Loop.NONE:
        yield ONE, state
    if track.loops[state] is Loop.ACROSS and track.separator is not None:
        yield track.separator, state
    if state < len(track.steps):
        for following in _entered(track, state + 1):
            yield track.steps[state], following


def _entered(track: Track, state: int) -> tuple[int, ...]:
    return (state, state + 1) if state in track.optional else (state,)
