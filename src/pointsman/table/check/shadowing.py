"""Routes that compete: what is left for each of them after those that come first, and which are left with nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pointsman.access.access import sample
from pointsman.conditions import can_hold, write_condition
from pointsman.conditions.nodes import And, Is, Not
from pointsman.errors import LimitError
from pointsman.matching.live import SubjectIndex
from pointsman.patterns import Dialect, Pattern
from pointsman.patterns.algebra import is_void, realizable
from pointsman.patterns.automaton import ONE, Loop, Step, Track, lay
from pointsman.patterns.nodes import Literal, Many, Nodes, One, has_glob
from pointsman.table.check.overlap_index import Near
from pointsman.table.route import COMPETING, Route

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


# -- routes that compete: of which each takes a part, and which are left with nothing
#
# Only routes of one strategy, one group and one dialect are compared. They are looked at in the order in which they are
# asked, each with those asked before it.


MOST_NAMED = 5
"""How many of the routes that take a part of another one are looked for."""

Terms = tuple[str | None, str | None]
"""What a route asks beyond its pattern: a predicate and conditions, each as a text."""
NO_TERMS: Terms = (None, None)


@dataclass(frozen=True, slots=True)
class Standing:
    """What those asked before it leave to a route."""

    route: Route
    covered_by: tuple[Route, ...] = ()
    """Routes that together take all of its messages: it is never taken."""
    cut_by: tuple[Route, ...] = ()
    """Routes that take some of its messages, where neither pattern contains the other."""


Turn = tuple[int, Route]
"""A route, and when it is asked."""


@dataclass(slots=True, eq=False)
class _Entry:
    """The routes of one pattern."""

    pattern: Pattern
    routes: list[Turn] = field(default_factory=list)
    first: dict[Terms, Turn] = field(default_factory=dict)

    def blocking(self, terms: set[Terms]) -> list[Turn]:
        """The first route of these terms, if there is one."""
        found = [self.first[each] for each in terms if each in self.first]
        return [min(found, key=lambda pair: pair[0])] if found else []


def can_be_taken(route: Route) -> bool:
    """Whether the route by itself can be taken: some subject matches, and the predicate can hold, as far as known."""
    if is_void(route.pattern.nodes, route.pattern.dialect):
        return False
    return route.predicate is None or can_hold(route.predicate.tree)


def standings(routes: Iterable[Route]) -> Iterator[Standing]:
    """How each competing route stands that can be taken by itself."""
    groups: dict[tuple[str, str, str], list[Route]] = {}
    for route in routes:
        if route.enabled and route.strategy in COMPETING and can_be_taken(route):
            groups.setdefault((route.strategy, route.group, route.pattern.dialect.name), []).append(route)
    for competing in groups.values():
        asked = _Asked(competing[0].pattern.dialect)
        for route in sorted(competing, key=_turn):
            yield asked.next(route)


def same_rank(one: Route, other: Route) -> bool:
    """Whether only their order in the table says which of two competing routes is asked first."""
    return one.strategy == "content" or one.priority == other.priority


def _turn(route: Route) -> tuple[int, int]:
    return (-route.priority if route.strategy == "priority" else 0, route.position)


class _Asked:
    """The routes of a group that were asked so far, but for those that are never taken."""

    def __init__(self, dialect: Dialect) -> None:
        self.near: Near[_Entry] = Near()
        self.index: SubjectIndex[_Entry] = SubjectIndex(dialect, cache_size=0)
        self.entries: dict[Nodes, _Entry] = {}
        self.turn = 0

    def next(self, route: Route) -> Standing:
        """How the route stands; it is among those asked from now on."""
        self.turn += 1
        terms = _terms(route)
        covered_by = self.covering(route.pattern, {NO_TERMS, terms})
        if covered_by:
            return Standing(route, covered_by=covered_by)
        cut_by = tuple(islice(self.cutting(route, terms), MOST_NAMED))
        self.add(route, terms)
        return Standing(route, cut_by=cut_by)

    def add(self, route: Route, terms: Terms) -> None:
        entry = self.entries.get(route.pattern.nodes)
        if entry is None:
            entry = self.entries[route.pattern.nodes] = _Entry(route.pattern)
            self.near.add(route.pattern, entry)
            self.index.add(route.pattern, entry)
        entry.routes.append((self.turn, route))
        entry.first.setdefault(terms, (self.turn, route))

    def covering(self, pattern: Pattern, terms: set[Terms]) -> tuple[Route, ...]:
        """Routes that together take all messages that the pattern matches and these terms hold for; maybe none."""
        if self.leaves_some(pattern, terms, self.turn):
            return ()
        blockers = self.blockers(pattern, terms, self.turn)
        covered = covering(pattern, [blocker.pattern for blocker in blockers])
        return tuple(blockers[position] for position in covered or ())

    def leaves_some(self, pattern: Pattern, terms: set[Terms], turn: int) -> bool:
        """Whether one subject shows that those asked before this turn do not take all; False when it does not."""
        subject = sample(pattern)
        if subject is None:
            return False
        return all(found[0] >= turn for entry in self.index.match(subject) for found in entry.blocking(terms))

    def blockers(self, pattern: Pattern, terms: set[Terms], turn: int) -> list[Route]:
        """Of each pattern that meets this one, the first route that takes every message these terms hold for."""
        met = (entry for entry in self.near.find(pattern) if entry.pattern.intersects(pattern))
        found = [first for entry in met for first in entry.blocking(terms) if first[0] < turn]
        return [route for _, route in sorted(found, key=lambda pair: pair[0])]

    def cutting(self, route: Route, terms: Terms) -> Iterator[Route]:
        """The routes that take some messages of this one, where neither pattern contains the other."""
        pattern = route.pattern
        for entry in self.near.find(pattern):
            other = entry.pattern
            if other.contains(pattern) or pattern.contains(other) or not other.intersects(pattern):
                continue
            for turn, rival in entry.routes:
                if _both_can_hold(route, rival) and self.wins(rival, turn, route, {NO_TERMS, terms, _terms(rival)}):
                    yield rival

    def wins(self, rival: Route, turn: int, route: Route, terms: set[Terms]) -> bool:
        """Whether some subject of both comes to the rival: not all of them are taken before it."""
        try:
            common = route.pattern.intersection(rival.pattern)
        except LimitError:
            return True
        return any(
            self.leaves_some(part, terms, turn)
            or not covers([blocker.pattern for blocker in self.blockers(part, terms, turn)], part)
            for part in common
        )


def _both_can_hold(one: Route, other: Route) -> bool:
    if one.predicate is None or other.predicate is None:
        return True
    return can_hold(And((one.predicate.tree, other.predicate.tree)))


def _terms(route: Route) -> Terms:
    predicate, condition = route.predicate, route.condition
    always = predicate is None or not can_hold(Not(Is(predicate.tree, True)))
    return (
        None if predicate is None or always else predicate.text,
        None if condition is None else json.dumps(write_condition(condition), sort_keys=True),
    )
