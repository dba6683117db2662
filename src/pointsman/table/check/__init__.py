"""What is probably not meant in a routing table, found before it runs: one file for each kind of finding.

    near, cover ─▶ competition ─▶ routes ─┐
    near, cover ─▶ translations ──────────┤
    duplicates, destinations, access, sagas, naming, wildcards, secrets ─▶ silences ─▶ check_table

``docs/checks.md`` lists the codes and says exactly what is decided.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pointsman.errors import InputError, PointsmanError, TableError
from pointsman.table.check.access import check_access
from pointsman.table.check.destinations import check_destinations, check_fallbacks, check_secrets
from pointsman.table.check.findings import KINDS, Finding, Kind, Places, Severity, apply_silences
from pointsman.table.check.naming import check_naming
from pointsman.table.check.routes import check_duplicates, check_routes, check_wildcards
from pointsman.table.check.sagas import check_sagas
from pointsman.table.check.translations import check_dead_translations, check_lossy_translations
from pointsman.table.loading.document import choose_environment, environments_of, read_document
from pointsman.table.loading.yaml import Node
from pointsman.table.routing_table import RoutingTable

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
    check_wildcards,
    check_secrets,
)


def check_table(table: RoutingTable, tree: Node | None = None) -> list[Finding]:
    """All findings by their places, those that the table accepts included: they have a reason in ``silenced``.

    ``tree`` is the YAML of the table with its environment applied. Without it, findings about routes are at the
    beginning of the route, and those about translations, access, sagas and silences have no place.
    """
    places = Places(table, tree)
    findings = apply_silences(table, places, (finding for check in CHECKS for finding in check(table, places)))
    return sorted(findings, key=_by_place)


def check_file(path: str | Path, environment: str | None = None) -> list[Finding]:
    """All findings about the table in a file, with their places: as it is and in each environment, or in one.

    A finding that not all of them have names those that do. Raises ``TableError`` for mistakes, which name the
    environment that they are made in, and ``InputError`` as ``RoutingTable.load``.
    """
    root = read_document(Path(path))
    names: list[str | None] = [None, *environments_of(root)] if environment is None else [environment]
    found: dict[Finding, list[str | None]] = {}
    failures: dict[tuple[object, ...], PointsmanError] = {}
    for name in names:
        try:
            table = RoutingTable.load(path, name)
        except (TableError, InputError) as error:
            for each in error.failures if isinstance(error, TableError) else [error]:
                failures.setdefault((each.file, each.line, each.column, each.code), _in_environment(each, name))
            continue
        for finding in check_table(table, choose_environment(read_document(Path(path)), name)):
            found.setdefault(finding, []).append(name)
    if failures:
        raise TableError([*failures.values()])
    # A silence may be for one environment only.
    told = [(each, where) for each, where in found.items() if each.code != "unused-silence" or len(where) == len(names)]
    return sorted((_of_environments(finding, where, names) for finding, where in told), key=_by_place)


def _of_environments(finding: Finding, where: list[str | None], names: list[str | None]) -> Finding:
    some = len(where) < len(names) and None not in where
    return replace(finding, environments=tuple(name for name in where if name is not None)) if some else finding


def _in_environment(error: PointsmanError, name: str | None) -> PointsmanError:
    if name is None:
        return error
    problem = f"in the environment {name!r}: {error.problem}"
    return InputError(error.code, problem, file=error.file, line=error.line, column=error.column)


def _by_place(finding: Finding) -> tuple[Any, ...]:
    return (finding.place is None, finding.place or (), finding.code)
