"""How the routes of two tables differ in meaning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from pointsman.patterns import Pattern
from pointsman.table.changes import Change, Difference, compare_order, compare_patterns, overall
from pointsman.table.model import Gather
from pointsman.table.model import Route as Written
from pointsman.table.route import COMPETING, Route
from pointsman.table.routing_table import RoutingTable


def diff_routes(before: RoutingTable, after: RoutingTable) -> Iterator[Change]:
    """Routes gained, lost and changed, by their names, and groups whose order changed.

    A disabled route is none. Fields that mean nothing for the strategy of a route, and descriptions, are not compared.
    """
    old, new = _enabled(before), _enabled(after)
    for name, (route, _) in old.items():
        if name not in new:
            yield Change("route", name, "lost", (Difference("pattern", route.pattern.text, None),), route.place)
    for name, (route, written) in new.items():
        if name not in old:
            yield Change("route", name, "gained", (Difference("pattern", None, route.pattern.text),), route.place)
            continue
        differences = tuple(_compare(*old[name], route, written))
        if differences:
            yield Change("route", name, overall(differences), differences, route.place)
    yield from _orders(before, after)


def _enabled(table: RoutingTable) -> dict[str, tuple[Route, Written]]:
    return {route.name: (route, table.written.routes[route.position]) for route in table.routes if route.enabled}


def _compare(old: Route, was: Written, new: Route, written: Written) -> Iterator[Difference]:
    yield from compare_patterns("pattern", old.pattern, new.pattern)
    one, other = old.predicate, new.predicate
    if (one and one.tree) != (other and other.tree):
        yield _restriction("when", was.when, written.when)
    if old.condition != new.condition:
        yield _restriction("conditions", was.conditions, written.conditions)
    for field, read in FIELDS.items():
        if read(old, was) != read(new, written):
            yield Difference(field, _shown(read(old, was)), _shown(read(new, written)))


def _restriction(field: str, before: Any, after: Any) -> Difference:
    """What fewer messages pass than without it."""
    return Difference(field, before, after, "narrowed" if before is None else "widened" if after is None else "changed")


def _destinations(route: Route, _: Written) -> list[Any]:
    if route.strategy == "balanced":
        return [[each.name, each.weight] for each in route.destinations]
    return sorted(each.name for each in route.destinations)


def _gather(route: Route, written: Written) -> dict[str, Any] | None:
    return (written.gather or Gather()).model_dump() if route.strategy == "scatter-gather" else None


FIELDS: dict[str, Callable[[Route, Written], Any]] = {
    "strategy": lambda route, _: route.strategy,
    "destinations": _destinations,
    "priority": lambda route, _: route.priority if route.strategy == "priority" else None,
    "group": lambda route, _: route.group if route.strategy in COMPETING else None,
    "balance": lambda route, _: route.balance,
    "key": lambda _, written: written.key,
    "gather": _gather,
}


def _shown(value: Any) -> Any:
    return str(value) if value is not None and not isinstance(value, int | list | dict) else value


def _orders(before: RoutingTable, after: RoutingTable) -> Iterator[Change]:
    """Groups in which another route may come first."""
    old, new = _groups(before), _groups(after)
    for (strategy, group), routes in new.items():
        found = compare_order("group", f"{strategy} {group}".rstrip(), old.get((strategy, group), []), routes)
        if found is not None:
            yield found


def _groups(table: RoutingTable) -> dict[tuple[str, str], list[tuple[str, Pattern]]]:
    """The routes that compete, in the order in which they are asked."""
    groups: dict[tuple[str, str], list[Route]] = defaultdict(list)
    for route in table.routes:
        if route.enabled and route.strategy in COMPETING:
            groups[route.strategy, route.group].append(route)
    for (strategy, _), routes in groups.items():
        if strategy == "priority":
            routes.sort(key=lambda route: -route.priority)
    return {key: [(route.name, route.pattern) for route in routes] for key, routes in groups.items()}
