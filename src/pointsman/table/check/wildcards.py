"""``foreign-wildcard``: patterns with a wildcard of another dialect, which matches nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.table.check.findings import Finding
from pointsman.table.check.places import Places
from pointsman.table.compile import foreign_wildcards
from pointsman.table.routing_table import RoutingTable


def check_wildcards(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The patterns of routes, translations, access rules and sagas."""
    for found in foreign_wildcards(table.routes, table.translations, table.access, table.sagas):
        yield Finding("foreign-wildcard", found.problem, found.about, places.find(*found.path))
