"""What is probably not meant in a routing table, found before it runs: one file for each kind of finding.

    near, cover ─▶ competition ─▶ routes ─┐
    near, cover ─▶ translations ──────────┤
    duplicates, destinations, access, sagas, naming ─▶ silences ─▶ check_table

``docs/checks.md`` lists the codes and says exactly what is decided.
"""

from __future__ import annotations

from pathlib import Path

from pointsman.table.check.access import check_access
from pointsman.table.check.destinations import check_destinations, check_fallbacks
from pointsman.table.check.duplicates import check_duplicates
from pointsman.table.check.findings import KINDS, Finding, Kind, Severity
from pointsman.table.check.naming import check_naming
from pointsman.table.check.places import Places
from pointsman.table.check.routes import check_routes
from pointsman.table.check.sagas import check_sagas
from pointsman.table.check.silences import apply_silences
from pointsman.table.check.translations import check_dead_translations, check_lossy_translations
from pointsman.table.document import read_document
from pointsman.table.environment import choose_environment
from pointsman.table.routing_table import RoutingTable
from pointsman.table.yaml_text import Node

__all__ = ["KINDS", "Finding", "Kind", "Severity", "check_file", "check_table"]

CHECKS = (
    check_routes,
    check_duplicates,
    check_destinations,
    check_fallbacks,
    check_dead_translations,
    check_lossy_translations,
    check_access,
    check_sagas,
    check_naming,
)


def check_table(table: RoutingTable, tree: Node | None = None) -> list[Finding]:
    """All findings by their places, those that the table accepts included: they have a reason in ``silenced``.

    ``tree`` is the YAML of the table with its environment applied. Without it, findings about routes are at the
    beginning of the route, and those about translations, access, sagas and silences have no place.
    """
    places = Places(table, tree)
    findings = apply_silences(table, places, (finding for check in CHECKS for finding in check(table, places)))
    return sorted(findings, key=lambda finding: (finding.place is None, finding.place or (), finding.code))


def check_file(path: str | Path, environment: str | None = None) -> list[Finding]:
    """All findings about the table in a file, with their places; raises as ``RoutingTable.load``."""
    table = RoutingTable.load(path, environment)
    return check_table(table, choose_environment(read_document(Path(path)), environment))
