"""A table, or one of its sagas, as a graph: boxes in columns and lines between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from pointsman.errors import InputError
from pointsman.patterns import Pattern
from pointsman.routing.saga.definition import Edge, Move, SagaDefinition, State
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable


def graph_of_saga(definition: SagaDefinition) -> Graph:
    """The states in columns by how far they are from the start; what cannot be reached stands in the last one."""
    columns = _distances(definition)
    graph = Graph(shown=len(definition.states), total=len(definition.states))
    keys = {
        name: graph.box("final" if state.final else "state", name, (name,), columns[name])
        for name, state in definition.states.items()
    }
    start = graph.box("start", "", ("start",), 0)
    for edge in definition.starts:
        graph.line(start, keys[edge.move.to], _label(edge), dashed=False)
    for name, state in definition.states.items():
        for label, move in _moves(state):
            graph.line(keys[name], keys[move.to], label, dashed=move.compensate is not None)
    return graph


def _distances(definition: SagaDefinition) -> dict[str, int]:
    found: dict[str, int] = {}
    reached = [edge.move.to for edge in definition.starts]
    distance = 0
    while reached:
        distance += 1
        found |= {name: distance for name in reached if name not in found}
        after = (move.to for name in reached for move in definition.states[name].moves)
        reached = list(dict.fromkeys(name for name in after if name not in found))
    return dict.fromkeys(definition.states, distance + 1) | found


def _moves(state: State) -> Iterator[tuple[str, Move]]:
    for edge in state.edges:
        yield _label(edge), edge.move
    if state.timeout is not None:
        yield f"after {state.timeout.after:g} s{_compensation(state.timeout.move)}", state.timeout.move
    if state.then is not None:
        yield _compensation(state.then).removeprefix(", "), state.then


def _label(edge: Edge) -> str:
    trigger = edge.trigger.text if isinstance(edge.trigger, Pattern) else edge.trigger
    return f"{trigger}{_compensation(edge.move)}"


def _compensation(move: Move) -> str:
    return "" if move.compensate is None else f", compensate {move.compensate.value}"


# -- A table, or one of its sagas, as a graph: boxes in columns and lines between them


Shape = Literal["pattern", "translation", "route", "destination", "state", "final", "start"]


@dataclass(frozen=True, slots=True)
class Box:
    """A node of the graph; ``key`` is made here, so that it is safe wherever a name must be."""

    key: str
    shape: Shape
    lines: tuple[str, ...]
    """What stands in it."""
    column: int


@dataclass(frozen=True, slots=True)
class Line:
    """From a box to another one."""

    start: str
    end: str
    label: str = ""
    dashed: bool = False


@dataclass(slots=True)
class Graph:
    """Boxes and lines, and of how many routes some were left out."""

    boxes: dict[str, Box] = field(default_factory=dict)
    lines: dict[Line, None] = field(default_factory=dict)
    """In the order in which they were added, each once."""
    shown: int = 0
    total: int = 0
    _keys: dict[tuple[str, str], str] = field(default_factory=dict)

    def box(self, shape: Shape, name: str, lines: Iterable[str], column: int) -> str:
        """The key of a box, which is made if there is none of this shape and name."""
        key = self._keys.setdefault((shape, name), f"{shape}{len(self._keys) + 1}")
        self.boxes.setdefault(key, Box(key, shape, tuple(lines), column))
        return key

    def line(self, start: str, end: str, label: str = "", *, dashed: bool = False) -> None:
        """Adds a line, unless it is there."""
        self.lines[Line(start, end, label, dashed)] = None


def graph_of_table(table: RoutingTable, names: Collection[str] = (), limit: int | None = None) -> Graph:
    """Patterns lead to routes, routes to destinations, those to their fallbacks; translations stand beside them.

    With ``names`` only these routes, and with ``limit`` only as many, the first in the table. Raises ``InputError``
    (``no-such-entry``) for a name that no route has.
    """
    known = {route.name for route in table.routes}
    for name in names:
        if name not in known:
            raise InputError("no-such-entry", f"there is no route {name!r}")
    wanted = [route for route in table.routes if not names or route.name in names]
    chosen = wanted[:limit]
    graph = Graph(shown=len(chosen), total=len(table.routes))
    for route in chosen:
        _add_route(graph, table, route)
    for rule in () if names else table.translations[:limit]:
        source = _pattern(graph, rule.template.source)
        made = graph.box("translation", rule.name, (rule.name, f"to {rule.template.text}"), 1)
        graph.line(source, made)
    return graph


def _pattern(graph: Graph, pattern: Pattern) -> str:
    return graph.box("pattern", f"{pattern.dialect.name} {pattern.text}", (pattern.text,), 0)


def _add_route(graph: Graph, table: RoutingTable, route: Route) -> None:
    box = graph.box("route", route.name, (route.name, *_details(route)), 1)
    graph.line(_pattern(graph, route.pattern), box, dashed=not route.enabled)
    for share in route.destinations:
        weight = str(share.weight) if share.weight != 1 else ""
        graph.line(box, _destination(graph, table, share.name), weight, dashed=not route.enabled)


def _details(route: Route) -> Iterator[str]:
    if not route.enabled:
        yield "disabled"
    kind = f"{route.strategy}: {route.balance}" if route.balance else route.strategy
    if route.strategy == "priority":
        kind += f" {route.priority}"
    yield f"{kind}, group {route.group}" if route.group else kind
    if route.predicate is not None:
        yield f"when {route.predicate.text}"
    if route.condition is not None:
        yield "with conditions on the metadata"


def _destination(graph: Graph, table: RoutingTable, name: str) -> str:
    """The box of a destination and, behind it, those of its fallbacks."""
    first = key = graph.box("destination", name, (name,), 2)
    column = 2
    seen = {name}
    while (found := table.destinations.get(name)) and found.fallback and found.fallback not in seen:
        name = found.fallback
        seen.add(name)
        column += 1
        fallback = graph.box("destination", name, (name,), column)
        graph.line(key, fallback, "fallback", dashed=True)
        key = fallback
    return first
