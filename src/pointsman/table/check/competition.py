"""Routes that compete: of which each takes a part, and which are left with nothing.

Only routes of one strategy, one group and one dialect are compared. They are looked at in the order in which they are
asked, each with those asked before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pointsman.conditions import can_hold, write_condition
from pointsman.conditions.nodes import And, Is, Not
from pointsman.errors import LimitError
from pointsman.patterns import Pattern
from pointsman.patterns.realizable import is_void
from pointsman.table.check.cover import covering, covers
from pointsman.table.check.near import Near
from pointsman.table.route import Route
from pointsman.table.select import COMPETING

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


@dataclass(slots=True)
class _Entry:
    """The routes of one pattern, each with its turn."""

    pattern: Pattern
    routes: list[tuple[int, Route]] = field(default_factory=list)
    first: dict[Terms, tuple[int, Route]] = field(default_factory=dict)


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
        asked = _Asked()
        for route in sorted(competing, key=_turn):
            yield asked.next(route)


def same_rank(one: Route, other: Route) -> bool:
    """Whether only their order in the table says which of two competing routes is asked first."""
    return one.strategy == "content" or one.priority == other.priority


def _turn(route: Route) -> tuple[int, int]:
    return (-route.priority if route.strategy == "priority" else 0, route.position)


class _Asked:
    """The routes of a group that were asked so far."""

    def __init__(self) -> None:
        self.near: Near[_Entry] = Near()
        self.entries: dict[object, _Entry] = {}
        self.turn = 0

    def next(self, route: Route) -> Standing:
        """How the route stands; it is among those asked from now on."""
        self.turn += 1
        terms = _terms(route)
        met = [entry for entry in self.near.find(route.pattern) if entry.pattern.intersects(route.pattern)]
        met.sort(key=lambda entry: entry.routes[0][0])
        blockers = sorted(_blockers(met, {NO_TERMS, terms}), key=lambda pair: pair[0])
        covered = covering(route.pattern, [blocker.pattern for _, blocker in blockers])
        if covered is not None:
            return Standing(route, covered_by=tuple(blockers[position][1] for position in covered))
        cut_by = tuple(_cutting(route, terms, met))
        self.add(route, terms)
        return Standing(route, cut_by=cut_by)

    def add(self, route: Route, terms: Terms) -> None:
        entry = self.entries.get(route.pattern.nodes)
        if entry is None:
            entry = self.entries[route.pattern.nodes] = _Entry(route.pattern)
            self.near.add(route.pattern, entry)
        entry.routes.append((self.turn, route))
        entry.first.setdefault(terms, (self.turn, route))


def _blockers(met: list[_Entry], terms: set[Terms]) -> Iterator[tuple[int, Route]]:
    """The first route of each pattern that takes every message for which these terms hold."""
    for entry in met:
        found = [entry.first[each] for each in terms if each in entry.first]
        if found:
            yield min(found, key=lambda pair: pair[0])


def _cutting(route: Route, terms: Terms, met: list[_Entry]) -> Iterator[Route]:
    count = 0
    for entry in met:
        if entry.pattern.contains(route.pattern) or route.pattern.contains(entry.pattern):
            continue
        for turn, other in entry.routes:
            if _both_can_hold(route, other) and _wins(other, turn, route, met, {NO_TERMS, terms, _terms(other)}):
                yield other
                count += 1
                if count == MOST_NAMED:
                    return


def _wins(other: Route, turn: int, route: Route, met: list[_Entry], terms: set[Terms]) -> bool:
    """Whether some subject of both comes to the other route: not all of them are taken before it."""
    before = [blocker.pattern for earlier, blocker in _blockers(met, terms) if earlier < turn]
    if not before:
        return True
    try:
        common = route.pattern.intersection(other.pattern)
    except LimitError:
        return True
    return not all(covers(before, part) for part in common)


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
