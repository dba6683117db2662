"""Destinations that routes name and nobody declares, that nobody names, and fallbacks that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from pointsman.table.check.findings import Finding
from pointsman.table.check.places import Places
from pointsman.table.routing_table import RoutingTable


def check_destinations(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``unknown-destination`` and ``unused-destination``; disabled routes count as others do."""
    used = {destination.fallback for destination in table.destinations.values()}
    for route in table.routes:
        for number, share in enumerate(route.destinations):
            used.add(share.name)
            if share.name not in table.destinations:
                problem = f"the route {route.name!r} goes to {share.name!r}, {_not_there(table, share.name)}"
                place = places.route(route, "destinations", number)
                yield Finding("unknown-destination", problem, route.name, place)
    for name in table.destinations:
        if name not in used:
            problem = f"no route goes to {name!r}, and it is no fallback"
            yield Finding("unused-destination", problem, name, places.destination(name))


def check_fallbacks(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``fallback-unknown``, and ``fallback-circle`` once for each circle, at the first destination of it."""
    told: set[str] = set()
    for name, destination in table.destinations.items():
        fallback = destination.fallback
        place = places.destination(name, "breaker", "fallback")
        if fallback is not None and fallback not in table.destinations:
            problem = f"the fallback of {name!r} is {fallback!r}, {_not_there(table, fallback)}"
            yield Finding("fallback-unknown", problem, name, place)
        circle = _circle(table, name)
        if circle and name not in told:
            told.update(circle)
            way = " to ".join(map(repr, [*circle, name]))
            yield Finding("fallback-circle", f"the fallbacks go round in a circle: {way}", name, place)


def _circle(table: RoutingTable, name: str) -> list[str]:
    """The destinations from one back to itself by fallbacks; none if they do not come back to it."""
    chain = [name]
    while True:
        destination = table.destinations.get(chain[-1])
        following = None if destination is None else destination.fallback
        if following == name:
            return chain
        if following is None or following in chain:
            return []
        chain.append(following)


def _not_there(table: RoutingTable, name: str) -> str:
    close = get_close_matches(name, table.destinations, n=1)
    return f"which is not declared{f'; did you mean {close[0]!r}?' if close else ''}"
