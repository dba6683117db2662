"""``access-unusable``: access that nobody can use."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.access import unusable_rules
from pointsman.table.check.findings import Finding, Places
from pointsman.table.routing_table import RoutingTable


def check_access(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The rules of each principal that have no effect."""
    if table.access is None:
        return
    for name, principal in table.access.principals.items():
        for each in unusable_rules(principal):
            place = places.find("access", name, *each.rule.origin.path)
            yield Finding("access-unusable", f"{name!r}: {each.problem}", name, place)
