"""How two tables differ in meaning, whatever they look like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pointsman.access import EFFECTS, OPERATIONS, Effect, Operation, Principal
from pointsman.patterns import Pattern
from pointsman.routing.translate import Rule
from pointsman.table.changes import Change, Difference, compare_order, compare_patterns, overall
from pointsman.table.compile import Destination
from pointsman.table.diff_routes import diff_routes
from pointsman.table.routing_table import RoutingTable
from pointsman.text.secret import hide


def diff_tables(before: RoutingTable, after: RoutingTable) -> Iterator[Change]:
    """What changed from one table to the other; when there is nothing, every message has the deliveries it had before.

    Patterns are compared by the subjects they match. Some of what no message can show is told as well: a priority that
    changed without changing the order, or access rules that are other patterns and together allow the same.
    """
    yield from diff_routes(before, after)
    yield from _destinations(before.destinations, after.destinations)
    yield from _translations(before, after)
    yield from _access(before, after)
    for field in ("unrouted", "naming"):
        old, new = (table.plain.get(field) for table in (before, after))
        if old != new:
            yield Change("table", field, "changed", (Difference(field, old, new),))
    for name in sorted(before.sagas.keys() | after.sagas.keys()):
        if name not in after.sagas or name not in before.sagas:
            yield Change("saga", name, "lost" if name in before.sagas else "gained")
        elif before.sagas[name] != after.sagas[name]:
            yield Change("saga", name, "changed")


def _destinations(before: dict[str, Destination], after: dict[str, Destination]) -> Iterator[Change]:
    for name, destination in before.items():
        if name not in after:
            yield Change("destination", name, "lost", place=destination.place)
    for name, new in after.items():
        old = before.get(name)
        if old is None:
            yield Change("destination", name, "gained", place=new.place)
            continue
        pairs = [
            (field, _plain(old, field), _plain(new, field)) for field in ("type", "options", "breaker", "fallback")
        ]
        differences = tuple(
            Difference(field, hide(old), hide(new)) for field, old, new in pairs if _text(old) != _text(new)
        )
        if differences:
            yield Change("destination", name, "changed", differences, new.place)


def _plain(destination: Destination, field: str) -> Any:
    value = getattr(destination, field)
    if field == "breaker" and value is not None:
        return {"failures": value.failure_threshold, "reset": value.reset_after, "probe": value.probe_timeout}
    return value


def _text(value: Any) -> str:
    """Tells 1 from true, which Python does not."""
    return json.dumps(value, sort_keys=True)


def _translations(before: RoutingTable, after: RoutingTable) -> Iterator[Change]:
    old, new = _rules(before), _rules(after)
    for name in old:
        if name not in new:
            yield Change("translation", name, "lost")
    for name, rule in new.items():
        if name not in old:
            yield Change("translation", name, "gained")
            continue
        was = old[name].template
        differences = list(compare_patterns("from", was.source, rule.template.source))
        if was.text != rule.template.text:
            differences.append(Difference("to", was.text, rule.template.text))
        if differences:
            yield Change("translation", name, overall(differences), tuple(differences))
    found = compare_order(
        "translations",
        "",
        [(name, rule.template.source) for name, rule in old.items()],
        [(name, rule.template.source) for name, rule in new.items()],
    )
    if found is not None:
        yield found
    if before.applies_all != after.applies_all:
        how = Difference("apply", before.written.translations.apply, after.written.translations.apply)
        yield Change("table", "translations", "changed", (how,))


def _rules(table: RoutingTable) -> dict[str, Rule]:
    """By their names; those without one by what they say."""
    names = (
        written.name or f"{written.source} -> {written.target or written.function}"
        for written in table.written.translations.rules
    )
    return dict(zip(names, table.translations, strict=True))


def _access(before: RoutingTable, after: RoutingTable) -> Iterator[Change]:
    if before.access is None or after.access is None:
        if before.access is not after.access:
            yield Change("access", "", "lost" if after.access is None else "gained")
        return
    old, new = before.access.principals, after.access.principals
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            yield Change("principal", name, "lost" if name in old else "gained")
            continue
        differences = tuple(
            difference
            for operation in OPERATIONS
            for effect in EFFECTS
            for difference in _rights(old[name], new[name], operation, effect)
        )
        if differences:
            yield Change("principal", name, overall(differences), differences)


def _rights(old: Principal, new: Principal, operation: Operation, effect: Effect) -> Iterator[Difference]:
    """Patterns that are gone, and new ones, unless a pattern of the other table contains them."""
    before, after = set(old.patterns(operation, effect)), set(new.patterns(operation, effect))
    field = f"{effect} {operation}"
    for pattern in sorted(before - after, key=str):
        if not _is_within(pattern, after):
            yield Difference(field, pattern.text, None, "narrowed" if effect == "allow" else "widened")
    for pattern in sorted(after - before, key=str):
        if not _is_within(pattern, before):
            yield Difference(field, None, pattern.text, "widened" if effect == "allow" else "narrowed")


def _is_within(pattern: Pattern, others: set[Pattern]) -> bool:
    return any(other.dialect == pattern.dialect and other.contains(pattern) for other in others)
