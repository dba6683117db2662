"""A saga as a graph: its states, and the events and times that move it."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.patterns import Pattern
from pointsman.routing.saga_definition import Edge, Move, SagaDefinition, State
from pointsman.table.graph import Graph


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
