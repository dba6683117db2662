"""What events do to sagas, worked out once for all that are alike.

What ``routing.saga.handle`` gives depends on the state of the saga and what is done in it, and on the subject and the
name of the event. The correlation id, the id of the message and the time are only put into the new state. So the moves
are remembered, and everything else is left to that function: timeouts that are due, messages that come twice, and
whatever is wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pointsman.errors import PointsmanError
from pointsman.routing import saga
from pointsman.routing.saga import Outcome, SagaEvent
from pointsman.routing.saga_definition import SagaDefinition
from pointsman.routing.saga_state import Done, SagaState

MOST_REMEMBERED = 4096
NEVER = float("inf")
Alike = tuple[str | None, tuple[Done, ...], str, str | None]
"""The state of the saga, None if there is none, what is done in it, and the subject and the name of the event."""


class Move(NamedTuple):
    """What an event does."""

    outcome: Outcome
    to: str | None
    """The state after it; None if it does nothing."""
    done: tuple[Done, ...]
    due_after: float | None
    """After how many seconds in that state it is to be looked at again."""
    timeout: float
    """After how many seconds in the state before it all is different."""


class Moved(NamedTuple):
    """What an event did."""

    outcome: Outcome
    state: SagaState
    due: float | None
    """When the state is to be looked at again: at its timeout, or when it may be forgotten."""


class SagaMoves:
    """The moves of the sagas of one definition."""

    def __init__(self, definition: SagaDefinition) -> None:
        self._definition = definition
        self._known: dict[Alike, Move] = {}

    def handle(self, before: SagaState | None, event: SagaEvent, now: float) -> Moved | None:
        """As ``saga.handle``; None where that function must be asked."""
        if before is None:
            alike: Alike = (None, (), event.subject, event.name)
        elif event.message_id in before.seen or before.correlation_id != event.correlation_id:
            return None
        else:
            alike = (before.state, before.done, event.subject, event.name)
        move = self._known.get(alike) or self._work_out(alike, before, event)
        if move is None or (before is not None and now >= before.entered_at + move.timeout):
            return None
        if move.to is None:
            return None if before is None else Moved(move.outcome, before, None)
        seen = () if before is None else before.seen
        seen = (*seen, event.message_id)[-self._definition.remember :]
        state = SagaState(self._definition.name, event.correlation_id, move.to, now, move.done, seen)
        return Moved(move.outcome, state, None if move.due_after is None else now + move.due_after)

    def _work_out(self, alike: Alike, before: SagaState | None, event: SagaEvent) -> Move | None:
        """The move, from a saga that is as this one and has just come into its state; None if there is none."""
        same = None if before is None else replace(before, entered_at=0.0, seen=())
        try:
            outcome, after = saga.handle(self._definition, same, event, 0.0)
        except PointsmanError:
            return None
        timeout = None if before is None else self._definition.states[before.state].timeout
        ends_after = NEVER if timeout is None else timeout.after
        if after is same:
            move = Move(outcome, None, (), None, ends_after)
        else:
            finished = saga.is_finished(self._definition, after)
            due_after = self._definition.forget_after if finished else saga.due(self._definition, after)
            move = Move(outcome, after.state, after.done, due_after, ends_after)
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[alike] = move
        return move
