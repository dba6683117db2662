"""Translations that are never applied, or make one subject of two."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.patterns.algebra import is_void
from pointsman.routing.translate import Rule, lossy
from pointsman.table.check.findings import Finding, Places
from pointsman.table.check.overlap_index import Near
from pointsman.table.check.shadowing import covering
from pointsman.table.routing_table import RoutingTable


def check_dead_translations(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``translation-dead``: no subject matches, or earlier ones of the same dialect take all that do."""
    earlier: dict[str, Near[tuple[int, Rule]]] = {}
    for number, rule in enumerate(table.translations):
        source = rule.template.source
        near = earlier.setdefault(source.dialect.name, Near())
        place = places.find("translations", number, "from")
        if is_void(source.nodes, source.dialect):
            problem = f"{rule.name!r} is never applied: no subject can match {source.text!r}"
            yield Finding("translation-dead", problem, rule.name, place)
            continue
        if table.applies_all:
            continue
        met = sorted(near.find(source), key=lambda pair: pair[0])
        sources = [other.template.source for _, other in met]
        covered = covering(source, sources)
        if covered is None:
            near.add(source, (number, rule))
            continue
        names = " and ".join(repr(met[position][1].name) for position in covered)
        verb = "comes first and takes" if len(covered) == 1 else "come first and together take"
        problem = f"{rule.name!r} is never applied: {names} {verb} all that {source.text!r} matches"
        yield Finding("translation-dead", problem, rule.name, place)


def check_lossy_translations(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``translation-lossy``: which wildcards cannot be read back from the result."""
    numbers = {rule.name: number for number, rule in enumerate(table.translations)}
    for loss in lossy(table.translations):
        wildcards = ", ".join(f"${number}" for number in loss.wildcards)
        template = loss.rule.template
        problem = f"{loss.rule.name!r} may make one subject of two: {template.text!r} does not keep {wildcards}"
        place = places.find("translations", numbers[loss.rule.name], "to")
        yield Finding("translation-lossy", f"{problem} of {template.source.text!r}", loss.rule.name, place)
