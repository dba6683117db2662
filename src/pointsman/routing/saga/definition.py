"""A saga as it is declared (states, and the edges between them), and where one is: the state that a runtime stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from pointsman.patterns.dialect import NATS, Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject
from pointsman.routing.state_codec import Fields, as_items, as_row, as_text, bad_state

KIND = "saga/1"


@dataclass(frozen=True, slots=True)
class Done:
    """A completed step: the state it was completed in, and the commands that undo it."""

    step: str
    undo: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class SagaState:
    """One saga under way, or finished."""

    saga: str
    """The name of its definition."""
    correlation_id: str
    state: str
    entered_at: float
    """When it came into this state, in seconds; the timeout counts from here."""
    done: tuple[Done, ...] = ()
    """Completed steps that can be undone and are not yet, in the order in which they were completed."""
    seen: tuple[str, ...] = ()
    """The ids of the last messages that acted, the newest last."""

    def as_data(self) -> dict[str, object]:
        """The state as plain data, which ``from_data`` reads."""
        return {
            "kind": KIND,
            "saga": self.saga,
            "correlation_id": self.correlation_id,
            "state": self.state,
            "entered_at": self.entered_at,
            "done": [[each.step, [command.as_data() for command in each.undo]] for each in self.done],
            "seen": list(self.seen),
        }

    @classmethod
    def from_data(cls, data: object) -> SagaState:
        """The state that ``as_data`` gave. Raises ``InputError`` (``bad-state``) for anything else."""
        fields = Fields(data, KIND)
        state = cls(
            fields.text("saga"),
            fields.text("correlation_id"),
            fields.text("state"),
            fields.seconds("entered_at"),
            fields.items("done", _done),
            fields.texts("seen"),
        )
        fields.end()
        return state


def _done(data: object, where: str) -> Done:
    step, undo = as_row(data, where, 2)
    return Done(as_text(step, f"{where}[0]"), as_items(undo, f"{where}[1]", _command))


def _command(data: object, where: str) -> Command:
    if not isinstance(data, dict) or set(data) != {"subject", "metadata"} or not isinstance(data["metadata"], dict):
        raise bad_state(f"{where} is no command")
    pairs = [(as_text(key, where), as_text(value, where)) for key, value in data["metadata"].items()]
    return Command(as_text(data["subject"], where), tuple(pairs))


REMEMBER = 100
MOST_REMEMBERED = 10_000
FORGET_AFTER = 3600.0


class Scope(StrEnum):
    """How much a compensation undoes."""

    ALL = "all"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Command:
    """A message to be sent; its correlation id is that of the saga, its body is up to the runtime."""

    subject: str
    metadata: tuple[tuple[str, str], ...] = ()
    """Pairs of key and value."""

    def as_data(self) -> dict[str, object]:
        """The command as plain data."""
        return {"subject": self.subject, "metadata": dict(self.metadata)}


@dataclass(frozen=True, slots=True)
class Move:
    """Where to go and what to do on the way."""

    to: str
    send: tuple[Command, ...] = ()
    undo: tuple[Command, ...] = ()
    compensate: Scope | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A move and the event that causes it: a pattern that fits the subject, or an exact event name."""

    trigger: Pattern | str
    move: Move

    def fits(self, subject: Subject, name: str | None) -> bool:
        """Whether an event of this subject and this name causes the move."""
        return self.trigger.matches(subject) if isinstance(self.trigger, Pattern) else self.trigger == name


@dataclass(frozen=True, slots=True)
class Timeout:
    """A move that is made when the saga has been in the state for ``after`` seconds."""

    after: float
    move: Move


@dataclass(frozen=True, slots=True)
class State:
    """One state of a saga; the three kinds are told apart by ``then`` and ``final``."""

    name: str
    edges: tuple[Edge, ...] = ()
    timeout: Timeout | None = None
    then: Move | None = None
    final: bool = False

    @property
    def moves(self) -> Iterator[Move]:
        """All moves that leave the state."""
        yield from (edge.move for edge in self.edges)
        if self.timeout is not None:
            yield self.timeout.move
        if self.then is not None:
            yield self.then


@dataclass(frozen=True, slots=True)
class SagaDefinition:
    """A saga that was checked: every move leads to a state that is there, and no ``then`` goes round in a circle.

    Made by ``read_definition`` (``reader.py``) from plain data. Immutable; safe between threads.
    """

    name: str
    starts: tuple[Edge, ...]
    states: Mapping[str, State]
    dialect: Dialect = NATS
    remember: int = REMEMBER
    """How many ids of messages that acted are remembered, so that each acts once; the oldest is forgotten first."""
    forget_after: float = field(default=FORGET_AFTER)
    """For how many seconds a finished saga is worth keeping, so that late events are known as such."""

    @property
    def edges(self) -> Iterator[Edge]:
        """All edges: those that begin it first."""
        yield from self.starts
        for state in self.states.values():
            yield from state.edges

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", MappingProxyType(dict(self.states)))
