"""Routes that cannot be taken, or lose a part of their messages to others: by themselves, and where they compete."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pointsman.patterns.algebra import is_void
from pointsman.table.check.findings import Finding, Places
from pointsman.table.check.shadowing import MOST_NAMED, Standing, can_be_taken, same_rank, standings
from pointsman.table.loading.compile import foreign_wildcards
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable


def check_duplicates(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The second and each further route that says the same as an earlier one; descriptions make no difference."""
    known: dict[object, Route] = {}
    for route in table.routes:
        written = table.written.routes[route.position]
        rest = written.model_dump(exclude={"name", "description", "pattern", "dialect"}, mode="json")
        said = (route.pattern.dialect.name, route.pattern.nodes, json.dumps(rest, sort_keys=True))
        first = known.setdefault(said, route)
        if first is not route:
            problem = f"the route {route.name!r} says the same as {first.name!r} in line {first.place.line}"
            yield Finding("duplicate-route", problem, route.name, places.route(route))


# -- ``foreign-wildcard``: patterns with a wildcard of another dialect, which matches nothing but itself


def check_wildcards(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The patterns of routes, translations, access rules and sagas."""
    for found in foreign_wildcards(table.routes, table.translations, table.access, table.sagas):
        yield Finding("foreign-wildcard", found.problem, found.about, places.find(*found.path))


def check_routes(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``route-unreachable``, ``predicate-never``, ``route-shadowed`` and ``overlap-different-outcome``."""
    for route in table.routes:
        if route.enabled and not can_be_taken(route):
            yield _by_itself(route, places)
    for standing in standings(table.routes):
        if standing.covered_by:
            yield _unreachable(standing, places)
        yield from _cut(standing, places)


def _by_itself(route: Route, places: Places) -> Finding:
    never = f"no message can take the route {route.name!r}"
    if route.predicate is None or is_void(route.pattern.nodes, route.pattern.dialect):
        problem = f"{never}: no subject can match its pattern {route.pattern.text!r}"
        return Finding("route-unreachable", problem, route.name, places.route(route, "pattern"))
    problem = f"{never}: its predicate can never hold: {route.predicate.text}"
    return Finding("predicate-never", problem, route.name, places.route(route, "when"))


def _unreachable(standing: Standing, places: Places) -> Finding:
    route, others = standing.route, standing.covered_by
    verb = "is asked first and takes" if len(others) == 1 else "are asked first and together take"
    problem = (
        f"no message can take the route {route.name!r}: {_names(others)} {verb} all that {route.pattern.text!r} matches"
    )
    return Finding("route-unreachable", problem, route.name, places.route(route, "pattern"))


def _cut(standing: Standing, places: Places) -> Iterator[Finding]:
    route = standing.route
    chance = [other for other in standing.cut_by if same_rank(route, other) and _outcome(route) != _outcome(other)]
    meant = [other for other in standing.cut_by if other not in chance]
    place = places.route(route, "pattern")
    if chance:
        problem = (
            f"{_names(chance)} and {route.name!r} match some of the same subjects and go to different destinations; "
            f"only the order in the table says that {_names(chance)} {'gets' if len(chance) == 1 else 'get'} them"
        )
        yield Finding("overlap-different-outcome", problem, route.name, place)
    if meant:
        more = ", if not more," if len(standing.cut_by) == MOST_NAMED else ""
        verb = "takes" if len(meant) == 1 else "take"
        problem = f"{_names(meant)}{more} {verb} some of the subjects that {route.pattern.text!r} matches"
        yield Finding("route-shadowed", problem, route.name, place)


def _outcome(route: Route) -> frozenset[str]:
    return frozenset(each.name for each in route.destinations)


def _names(routes: Sequence[Route]) -> str:
    names = [repr(route.name) for route in routes]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
