"""How two tables differ in meaning: their routes, destinations, translations, access and sagas."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from pointsman._util.secrets import hide
from pointsman.access import EFFECTS, OPERATIONS, Effect, Operation, Principal
from pointsman.patterns import Pattern
from pointsman.routing.translate import Rule
from pointsman.table.loading.compile import Destination
from pointsman.table.loading.schema import Gather
from pointsman.table.loading.schema import Route as Written
from pointsman.table.route import COMPETING, Place, Route
from pointsman.table.routing_table import RoutingTable

Outcome = Literal["gained", "lost", "widened", "narrowed", "moved", "changed"]
PAIRWISE = 500
"""In a longer list, a change of the order counts also when none of the patterns concerned have subjects in common."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs, as it is written before and after."""

    field: str
    before: Any
    after: Any
    effect: Outcome = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a route, destination, translation, principal, saga or group of routes."""

    kind: str
    name: str
    effect: Outcome
    differences: tuple[Difference, ...] = ()
    place: Place | None = None
    """In the new table; in the old one for what is lost."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "kind": self.kind,
            "name": self.name,
            "effect": self.effect,
            "place": None if self.place is None else str(self.place),
            "differences": [
                {"field": each.field, "before": each.before, "after": each.after, "effect": each.effect}
                for each in self.differences
            ],
        }


def overall(differences: Iterable[Difference]) -> Outcome:
    """What several differences amount to: the effect that all of them have, else ``changed``."""
    effects = {each.effect for each in differences}
    return effects.pop() if len(effects) == 1 else "changed"


def compare_patterns(field: str, before: Pattern, after: Pattern) -> Iterator[Difference]:
    """How the subjects of a pattern changed; nothing when they are the same, however it is written.

    ``moved`` says that no subject is left. Patterns of two dialects cannot be compared: that is ``changed``.
    """
    if before == after:
        return
    effect: Outcome = "changed"
    if before.dialect == after.dialect:
        if after.contains(before):
            effect = "widened"
        elif before.contains(after):
            effect = "narrowed"
        elif not after.intersects(before):
            effect = "moved"
    yield Difference(field, _written(before, after), _written(after, before), effect)


def _written(pattern: Pattern, other: Pattern) -> str:
    return pattern.text if pattern.dialect == other.dialect else f"{pattern.text} ({pattern.dialect.name})"


def compare_order(
    kind: str, name: str, before: list[tuple[str, Pattern]], after: list[tuple[str, Pattern]]
) -> Change | None:
    """Whether entries that both lists name stand in another order, as far as that can matter to a subject."""
    names = dict(after)
    old = [each for each, _ in before if each in names]
    known = set(old)
    new = [each for each, _ in after if each in known]
    if old == new:
        return None
    turns = {each: number for number, each in enumerate(old)}
    if len(new) <= PAIRWISE and not any(_swapped(turns, names, pair) for pair in combinations(new, 2)):
        return None
    first = next(number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
    return Change(kind, name, "changed", (Difference("order", old[first:][:5], new[first:][:5]),))


def _swapped(turns: dict[str, int], patterns: dict[str, Pattern], pair: tuple[str, str]) -> bool:
    first, second = pair
    if turns[first] < turns[second]:
        return False
    one, other = patterns[first], patterns[second]
    return one.dialect != other.dialect or one.intersects(other)


# -- how the routes of two tables differ in meaning


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


def _destinations_of(route: Route, _: Written) -> list[Any]:
    if route.strategy == "balanced":
        return [[each.name, each.weight] for each in route.destinations]
    return sorted(each.name for each in route.destinations)


def _gather(route: Route, written: Written) -> dict[str, Any] | None:
    return (written.gather or Gather()).model_dump() if route.strategy == "scatter-gather" else None


FIELDS: dict[str, Callable[[Route, Written], Any]] = {
    "strategy": lambda route, _: route.strategy,
    "destinations": _destinations_of,
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


# -- how two tables differ in meaning, whatever they look like


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
