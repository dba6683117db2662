"""Problems of a saga definition: those that make it unreadable, and states that cannot be reached or left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pointsman.patterns.algebra import is_void
from pointsman.patterns.pattern import Pattern
from pointsman.routing.saga.definition import Edge, SagaDefinition, State
from pointsman.routing.state_codec import is_finite_number, is_whole, shown

Path = tuple[str | int, ...]
MOST_SECONDS = 10 * 365 * 86400


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in a definition, and where: the keys and positions that lead to it."""

    path: Path
    problem: str

    def __str__(self) -> str:
        """Path and problem, as in ``states.paid.edges[0].to: there is no state 'x'``."""
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{where.lstrip('.') or 'the definition'}: {self.problem}"


class Problems:
    """Gives each value as what it should be, or notes a problem and gives something harmless."""

    __slots__ = ("found",)

    found: list[Problem]

    def __init__(self) -> None:
        self.found = []

    def note(self, path: Path, problem: str) -> None:
        """Notes that something is wrong there."""
        self.found.append(Problem(path, problem))

    def name(self, value: object, path: Path) -> str:
        """A text that is not empty."""
        if isinstance(value, str) and value:
            return value
        self.note(path, f"{shown(value)} is no name")
        return ""

    def flag(self, value: object, path: Path) -> bool:
        """True or false."""
        if not isinstance(value, bool):
            self.note(path, f"{shown(value)} is neither true nor false")
        return value is True

    def whole(self, value: object, path: Path, most: int) -> int:
        """A whole number from 1 to the one given."""
        if is_whole(value) and 1 <= value <= most:
            return value
        self.note(path, f"{shown(value)} is no whole number from 1 to {most}")
        return 1

    def seconds(self, value: object, path: Path) -> float:
        """A number of seconds above 0, and at most ten years."""
        if is_finite_number(value) and 0 < value <= MOST_SECONDS:
            return float(value)
        self.note(path, f"{shown(value)} is no number of seconds above 0 and up to {MOST_SECONDS} (ten years)")
        return 1.0

    def items(self, value: object, path: Path) -> list[object]:
        """A list."""
        if isinstance(value, list):
            return value
        self.note(path, "it must be a list")
        return []

    def texts(self, value: object, path: Path) -> tuple[tuple[str, str], ...]:
        """The pairs of an object of texts."""
        if isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair):
            return tuple(value.items())
        self.note(path, "it must be an object of texts")
        return ()

    def fields(self, value: object, path: Path, known: tuple[str, ...]) -> dict[str, object]:
        """An object that has no other fields than the known ones."""
        if not isinstance(value, dict):
            self.note(path, f"it must be an object of {', '.join(known)}")
            return {}
        for key in value:
            if key not in known:
                self.note(path, f"there is no field {shown(key)} here, only {', '.join(known)}")
        return value


# -- what is wrong with a saga definition although it can be run: states that cannot be reached, or not be left
#
# Every event is taken to be possible in every state. An edge that an earlier one of the same state takes all events
# from is never taken, and neither is one whose pattern matches no subject at all.


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
