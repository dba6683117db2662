"""``duplicate-route``: routes that differ in nothing but their names."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pointsman.table.check.findings import Finding
from pointsman.table.check.places import Places
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
