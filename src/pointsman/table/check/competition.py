"""Routes that compete: of which each takes a part, and which are left with nothing.

Only routes of one strategy, one group and one dialect are compared. They are looked at in the order in which they are
asked, each with those asked before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from pointsman.access.pattern_list import sample
from pointsman.conditions import can_hold, write_condition
from pointsman.conditions.nodes import And, Is, Not
from pointsman.errors import LimitError
from pointsman.matching.live import SubjectIndex
from pointsman.patterns import Dialect, Pattern
from pointsman.patterns.nodes import Nodes
from pointsman.patterns.realizable import is_void
from pointsman.table.check.cover import covering, covers
from pointsman.table.check.near import Near
from pointsman.table.route import COMPETING, Route

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
