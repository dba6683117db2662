"""What is wrong with a saga definition although it can be run: states that cannot be reached, or not be left.

Every event is taken to be possible in every state. An edge that an earlier one of the same state takes all events from
is never taken, and neither is one whose pattern matches no subject at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pointsman.patterns.pattern import Pattern
from pointsman.patterns.realizable import is_void
from pointsman.routing.saga_definition import Edge, SagaDefinition, State


@dataclass(frozen=True, slots=True)
class ShadowedEdge:
    """An edge that is never taken, because an earlier one of the same state takes all of its events."""

    state: str | None
    """The state it leaves; None for an edge of ``starts``."""
    position: int
    earlier: int


def unreachable_states(definition: SagaDefinition) -> tuple[str, ...]:
    """The states that no sequence of events and timeouts leads to, in the order of the definition."""
    targets = {name: _targets(state) for name, state in definition.states.items()}
    reached = _spread((edge.move.to for edge in _live(definition.starts)), targets)
    return tuple(name for name in definition.states if name not in reached)


def inescapable_states(definition: SagaDefinition) -> tuple[str, ...]:
    """The states from which no final state can be reached, in the order of the definition."""
    sources: dict[str, list[str]] = {name: [] for name in definition.states}
    for name, state in definition.states.items():
        for target in _targets(state):
            sources[target].append(name)
    ending = _spread((name for name, state in definition.states.items() if state.final), sources)
    return tuple(name for name in definition.states if name not in ending)


def untimed_states(definition: SagaDefinition) -> tuple[str, ...]:
    """The states that wait for an event and would wait for ever, in the order of the definition."""
    return tuple(
        name
        for name, state in definition.states.items()
        if not state.final and state.then is None and state.timeout is None
    )


def shadowed_edges(definition: SagaDefinition) -> tuple[ShadowedEdge, ...]:
    """The edges that are never taken, those of ``starts`` first."""
    places: list[tuple[str | None, tuple[Edge, ...]]] = [(None, definition.starts)]
    places += [(name, state.edges) for name, state in definition.states.items()]
    return tuple(
        ShadowedEdge(name, position, earlier)
        for name, edges in places
        for position in range(len(edges))
        if (earlier := _shadow(edges, position)) is not None
    )


def _targets(state: State) -> list[str]:
    others = [move.to for move in state.moves][len(state.edges) :]
    return [edge.move.to for edge in _live(state.edges)] + others


def _live(edges: tuple[Edge, ...]) -> list[Edge]:
    return [
        edge
        for position, edge in enumerate(edges)
        if _shadow(edges, position) is None
        and not (isinstance(edge.trigger, Pattern) and is_void(edge.trigger.nodes, edge.trigger.dialect))
    ]


def _shadow(edges: tuple[Edge, ...], position: int) -> int | None:
    return next((earlier for earlier in range(position) if _takes_all(edges[earlier], edges[position])), None)


def _takes_all(earlier: Edge, later: Edge) -> bool:
    if isinstance(earlier.trigger, str):
        return earlier.trigger == later.trigger
    if isinstance(later.trigger, Pattern):
        return earlier.trigger.contains(later.trigger)
    dialect = earlier.trigger.dialect
    return not dialect.hides_dollar and earlier.trigger.contains(Pattern(dialect.many, dialect))


def _spread(first: Iterable[str], following: Mapping[str, Iterable[str]]) -> set[str]:
    """Everything that can be reached from the first ones, themselves included."""
    reached: set[str] = set()
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(following[name])
    return reached
