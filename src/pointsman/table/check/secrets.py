"""``plain-secret``: secrets that are written into the table instead of being named by it."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.table.check.findings import Finding
from pointsman.table.check.places import Places
from pointsman.table.routing_table import RoutingTable
from pointsman.text.secret import plain_secrets


def check_secrets(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """The options of destinations."""
    for name, destination in table.destinations.items():
        for path in plain_secrets(destination.options):
            problem = f"the destination {name!r} has a secret in plain text: {'.'.join(path)}"
            yield Finding("plain-secret", problem, name, places.destination(name, "options", *path))
