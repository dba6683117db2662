"""Sagas: a state machine for each correlation id, declared as data (``definition.py``).

            an event of ``starts``
    (none) ────────────────────────▶ a state ──▶ … ──▶ a final state
                                       │  ▲
                                       └──┘  an event of its ``edges``, its ``timeout``, or at once by ``then``

The rules:

- An event without a saga must start one; otherwise its correlation id is unknown, which is an error.
- The first edge of the present state that fits decides. An event that fits none does nothing, and neither does any
  event after the end; the outcome says why.
- A message that has acted does not act again, as long as it is among the last ``remember`` that acted.
- A timeout that is due is taken before an event is looked at, so that it makes no difference whether the runtime's
  timer or the next event comes first. The time in the next state counts from ``now``.
- A compensation runs the steps that are done from the last to the first, the commands of one step in the order in
  which they are written. What it runs is not done any more, so nothing is undone twice.

Every function is pure: it gives a new state and changes none. Two events of one correlation id must not be handled at
the same time from the same state: a runtime puts the new state in place only if the old one is still there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pointsman.errors import RoutingError
from pointsman.patterns.subject import Subject
from pointsman.routing.saga.definition import Command, Done, Edge, Move, SagaDefinition, SagaState, Scope, State
from pointsman.routing.state_codec import bad_state


@dataclass(frozen=True, slots=True)
class SagaEvent:
    """What a saga needs to know of a message."""

    correlation_id: str
    message_id: str
    subject: str
    name: str | None = None
    """The name of the event, for edges that ask for one."""


@dataclass(frozen=True, slots=True)
class SendCommands:
    """Send these, in this order."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Compensate:
    """Send these, in this order, to undo what was done; none if nothing was."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Complete:
    """The saga has ended, in this final state."""

    state: str


Action = SendCommands | Compensate | Complete


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be done, in its order, and how it came to that."""

    actions: tuple[Action, ...] = ()
    path: tuple[str, ...] = ()
    """The states that were entered, in their order."""
    ignored: str | None = None
    """Why the event did nothing; None if it acted, or if there was none."""


def handle(
    definition: SagaDefinition, state: SagaState | None, event: SagaEvent, now: float
) -> tuple[Outcome, SagaState]:
    """What the event does to the saga of its correlation id; ``state`` is None when there is no such saga yet.

    Raises ``RoutingError`` (``unknown-saga``) for an event that has no saga and starts none, or that is given with the
    saga of another correlation id; ``InputError`` (``bad-state``) for a state that is not of this definition;
    ``SubjectError`` for a subject that the dialect of the saga does not allow.
    """
    subject = Subject.of(event.subject, definition.dialect)
    if state is None:
        return _start(definition, event, subject, now)
    if state.correlation_id != event.correlation_id:
        problem = f"the event {event.message_id!r} is of {event.correlation_id!r}, the saga of {state.correlation_id!r}"
        raise RoutingError("unknown-saga", problem)
    before, state = expire(definition, state, now)
    present = _present(definition, state)
    edge = _fitting(present.edges, subject, event)
    if event.message_id in state.seen:
        return replace(before, ignored=f"the message {event.message_id!r} has acted already"), state
    if present.final:
        return replace(before, ignored=f"the saga has ended in {present.name!r}"), state
    if edge is None:
        return replace(before, ignored=f"no edge of {present.name!r} fits {event.subject!r}"), state
    after, state = _follow(definition, _remembering(definition, state, event), edge.move, now)
    return Outcome(before.actions + after.actions, before.path + after.path), state


def expire(definition: SagaDefinition, state: SagaState, now: float) -> tuple[Outcome, SagaState]:
    """Takes the timeout of the present state if it is due; otherwise nothing changes.

    Raises ``InputError`` (``bad-state``) for a state that is not of this definition.
    """
    timeout = _present(definition, state).timeout
    if timeout is None or now < state.entered_at + timeout.after:
        return Outcome(), state
    return _follow(definition, state, timeout.move, now)


def due(definition: SagaDefinition, state: SagaState) -> float | None:
    """The next time at which ``expire`` has something to do; None if it never has."""
    timeout = _present(definition, state).timeout
    return None if timeout is None else state.entered_at + timeout.after


def is_finished(definition: SagaDefinition, state: SagaState) -> bool:
    """Whether the saga has ended."""
    return _present(definition, state).final


def is_forgettable(definition: SagaDefinition, state: SagaState, now: float) -> bool:
    """Whether the saga has ended so long ago that a runtime may drop its state; later events then are unknown."""
    return is_finished(definition, state) and now >= state.entered_at + definition.forget_after


def _start(definition: SagaDefinition, event: SagaEvent, subject: Subject, now: float) -> tuple[Outcome, SagaState]:
    edge = _fitting(definition.starts, subject, event)
    if edge is None:
        problem = f"{definition.name!r} has no saga {event.correlation_id!r}, and {event.subject!r} does not start one"
        raise RoutingError("unknown-saga", problem)
    new = SagaState(definition.name, event.correlation_id, "", now, seen=(event.message_id,))
    return _follow(definition, new, edge.move, now)


def _follow(definition: SagaDefinition, state: SagaState, move: Move, now: float) -> tuple[Outcome, SagaState]:
    """Makes the move, and then each that leads on at once."""
    actions: list[Action] = []
    path: list[str] = []
    done, at = state.done, state.state
    next_move: Move | None = move
    while next_move is not None:
        if next_move.send:
            actions.append(SendCommands(next_move.send))
        if next_move.undo:
            done = (*done, Done(at, next_move.undo))
        if next_move.compensate is not None:
            kept = () if next_move.compensate is Scope.ALL else done[:-1]
            actions.append(Compensate(tuple(command for each in reversed(done[len(kept) :]) for command in each.undo)))
            done = kept
        at = next_move.to
        path.append(at)
        next_move = definition.states[at].then
    if definition.states[at].final:
        actions.append(Complete(at))
    return Outcome(tuple(actions), tuple(path)), replace(state, state=at, entered_at=now, done=done)


def _fitting(edges: tuple[Edge, ...], subject: Subject, event: SagaEvent) -> Edge | None:
    return next((edge for edge in edges if edge.fits(subject, event.name)), None)


def _remembering(definition: SagaDefinition, state: SagaState, event: SagaEvent) -> SagaState:
    return replace(state, seen=(*state.seen, event.message_id)[-definition.remember :])


def _present(definition: SagaDefinition, state: SagaState) -> State:
    if state.saga != definition.name or state.state not in definition.states:
        raise bad_state(f"the saga {definition.name!r} has no state {state.state!r} of {state.saga!r}")
    return definition.states[state.state]
