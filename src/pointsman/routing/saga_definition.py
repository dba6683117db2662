"""Sagas as they are declared: states, and the edges between them.

A saga is begun by an event that fits one of its ``starts``. A state is one of three:

- one that waits: ``edges`` say which event leads where, ``timeout`` what happens if none comes;
- one that is passed through: ``then`` leads on at once;
- a final one.

An edge may do three things on its way, in this order: send commands (``send``), register what undoes the step that is
now completed (``undo``), and compensate (``compensate``): run what is registered, the last step first. ``all`` runs
everything, ``last`` the last step only, for sagas that wait for one step to be undone before they undo the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from pointsman.patterns.dialect import NATS, Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.patterns.subject import Subject

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

    Made by ``read_definition`` (``saga_reader.py``) from plain data. Immutable; safe between threads.
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
