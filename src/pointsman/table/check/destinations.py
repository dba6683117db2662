"""Destinations that nobody names, and fallbacks that lead nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman._util.secrets import plain_secrets
from pointsman.table.check.findings import Finding, Places
from pointsman.table.routing_table import RoutingTable


def check_secrets(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The options of destinations."""
    for name, destination in table.destinations.items():
        for path in plain_secrets(destination.options):
            problem = f"the destination {name!r} has a secret in plain text: {'.'.join(path)}"
            yield Finding("plain-secret", problem, name, places.destination(name, "options", *path))


def check_destinations(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``unused-destination``; disabled routes count as others do."""
    used = {table.unrouted, *(destination.fallback for destination in table.destinations.values())}
    used.update(name for route in table.routes for name in route.names)
    for name in table.destinations:
        if name not in used:
            problem = f"no route goes to {name!r}, and it is no fallback"
            yield Finding("unused-destination", problem, name, places.destination(name))


def check_fallbacks(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``fallback-circle`` once for each circle, at the first destination of it."""
    told: set[str] = set()
    for name in table.destinations:
        place = places.destination(name, "breaker", "fallback")
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
