"""What messages, and the time, do to the sagas and gatherings of a bucket.

What anything means is said elsewhere: ``RoutingTable.decide`` and ``RoutingTable.expire`` move the states, and the
messages that follow are those of the broker. Here is decided at which time: by an exact clock, a state is moved at the
very time at which it was due, before anything later is looked at; otherwise at the present, as in the broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pointsman.broker.following import commands_of, result_of
from pointsman.broker.identity import derived_id
from pointsman.broker.publishing import REPLY_TO
from pointsman.broker.state import LATE, due_of
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.pipeline.stateful.bucket import Bucket, Notes
from pointsman.pipeline.stateful.rows import ANSWER, COMMAND, MOVE, REQUEST, RESULT, OutputRow
from pointsman.routing.gather_state import GatherState
from pointsman.routing.saga import Compensate, Complete
from pointsman.table.followed import Gathering, SagaMove
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, Value

MOST_TIMEOUTS = 100
"""Timeouts that one state takes one after the other by the exact clock; the next one is taken at the present."""


class Following(Mapping[Key, Value]):
    """A bucket while messages are handled; as a mapping, its states as of the time of the message in hand.

    ``rows`` are what came of it, in their order.
    """

    def __init__(self, table: RoutingTable, bucket: Bucket, *, exact: bool) -> None:
        self._table = table
        self._bucket = bucket
        self._exact = exact
        self._now = 0.0
        self.rows: list[OutputRow] = []

    def __getitem__(self, key: Key) -> Value:
        found: Value | None = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def get(self, key: Key, default: Any = None) -> Any:
        """The state as of now, if there is one."""
        if self._exact:
            self._catch_up(key, self._now)
        return self._bucket.get(key, default)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._bucket)

    def __len__(self) -> int:
        return len(self._bucket)

    def handle(self, message: Message, now: float) -> None:
        """Moves what the message moves. What is wrong with it becomes a row, and nothing is raised."""
        self._now = now
        try:
            decision = self._table.decide(message, self, now=now)
        except PointsmanError as error:
            self.refuse(message.correlation_id or message.id, message.id, error, now)
            return
        answered = set()
        for moved in decision.followed:
            key = _key_of(moved)
            answered.add(key)
            after = decision.changes.get(key)
            if isinstance(moved, SagaMove):
                self._report_saga(moved, message, now)
            else:
                self._report_gathering(moved, message.id, now)
            if after is not None:
                self._put(key, after, self._notes_after(key, moved))
        for key, after in decision.changes.items():
            if key not in answered and isinstance(after, GatherState):
                self._begin(key, after, message, now)

    def expire(self, now: float) -> None:
        """Moves what is due at this time."""
        for key in self._bucket.due_by(now):
            self._catch_up(key, now)

    def refuse(self, correlation_id: str, cause: str | None, error: PointsmanError, now: float) -> None:
        """A row for a message that cannot be used."""
        row = OutputRow(MOVE, None, None, correlation_id, "problem", error.problem, causation_id=cause, time=now)
        self.rows.append(row)

    def _begin(self, key: Key, state: GatherState, request: Message, now: float) -> None:
        """Begins to gather, unless the same request has come before."""
        again = self._bucket.notes(key).get("request") == request.id
        outcome = "duplicate" if again else "asked"
        self.rows.append(
            OutputRow(REQUEST, None, key.name, key.correlation_id, outcome, causation_id=request.id, time=now)
        )
        if not again:
            self._put(key, state, {"request": request.id, "reply_to": request.metadata.get(REPLY_TO)})

    def _catch_up(self, key: Key, until: float) -> None:
        """Takes the timeouts that are due by this time."""
        for count in range(MOST_TIMEOUTS + 1):
            due = self._bucket.due(key)
            if due is None or due > until:
                return
            self._expire(key, due, due if self._exact and count < MOST_TIMEOUTS else until)

    def _expire(self, key: Key, due: float, now: float) -> None:
        try:
            value = self._bucket[key]
            if isinstance(value, GatherState) and value.complete and now >= value.deadline + LATE:
                self._bucket.drop(key)
                return
            decision = self._table.expire({key: value}, now)
        except PointsmanError as error:
            # As when the table has no such state any more. It is looked at again when something comes for it.
            self._bucket.put_off(key, None)
            self.refuse(key.correlation_id, None, error, now)
            return
        for moved in decision.followed:
            if isinstance(moved, SagaMove):
                cause = f"{key.name}\0{key.correlation_id}\0{getattr(value, 'state', '')}\0{due!r}"
                self._report_saga(moved, cause, now)
            else:
                self._report_gathering(moved, None, now)
            after = decision.changes.get(key)
            if after is not None:
                self._put(key, after, self._notes_after(key, moved))
        if self._bucket.due(key) == due:
            # It is over, or the table knows nothing of it any more.
            self._bucket.drop(key)

    def _put(self, key: Key, value: Value, notes: Notes) -> None:
        if self._bucket.get(key) is not value:
            self._bucket.put(key, value, due_of(self._table, key, value), notes)

    def _notes_after(self, key: Key, moved: SagaMove | Gathering) -> Notes:
        notes = self._bucket.notes(key)
        if isinstance(moved, SagaMove) and _compensates(moved):
            return {**notes, "compensated": True}
        return notes

    def _report_saga(self, moved: SagaMove, cause: Message | str, now: float) -> None:
        """Rows for the commands and for the move; a cause that is no message is a text that names the timeout."""
        message = cause if isinstance(cause, Message) else None
        if moved.outcome.actions:
            self._report_commands(moved, cause, message, now)
        reason = moved.problem or moved.outcome.ignored
        if moved.problem is not None:
            outcome = "problem"
        elif not moved.outcome.path:
            outcome = "ignored"
        elif any(isinstance(action, Complete) for action in moved.outcome.actions):
            undone = _compensates(moved) or self._bucket.notes(_key_of(moved)).get("compensated", False)
            outcome = "compensated" if undone else "completed"
        else:
            outcome = "moved"
        caused = None if message is None else message.id
        path = moved.outcome.path
        self.rows.append(
            OutputRow(
                MOVE, moved.saga, None, moved.correlation_id, outcome, reason, path, causation_id=caused, time=now
            )
        )

    def _report_commands(self, moved: SagaMove, cause: Message | str, message: Message | None, now: float) -> None:
        for number, command in enumerate(commands_of(moved, message)):
            made = command
            if isinstance(cause, str):
                # The same one however often Spark has to work it out.
                made = command.replace(id=derived_id(cause, f"{moved.saga}\0{number}\0{command.subject}"))
            self.rows.append(_sent(COMMAND, moved.saga, None, moved.correlation_id, None, made, now))

    def _report_gathering(self, moved: Gathering, cause: str | None, now: float) -> None:
        """Rows for the result, if this completed it, and for the answer."""
        if cause is not None:
            dropped = moved.outcome.dropped
            outcome = "problem" if moved.problem is not None else "taken" if dropped is None else dropped.value
            answer = OutputRow(ANSWER, None, moved.route, moved.correlation_id, outcome, moved.problem)
            self.rows.append(answer._replace(causation_id=cause, time=now))
        if moved.gathered is None:
            return
        notes = self._bucket.notes(_key_of(moved))
        try:
            result = result_of("", moved.route, moved.correlation_id, moved.gathered)
        except UnicodeEncodeError:
            reason = "an answer holds a lone surrogate, which UTF-8 cannot write"
            self.rows.append(OutputRow(RESULT, None, moved.route, moved.correlation_id, "problem", reason, time=now))
            return
        made = result.replace(id=derived_id(str(notes.get("request")), f"{moved.route}\0result"))
        outcome = moved.gathered.reason.value
        row = _sent(RESULT, None, moved.route, moved.correlation_id, outcome, made, now)
        self.rows.append(row._replace(subject=notes.get("reply_to")))


def _key_of(moved: SagaMove | Gathering) -> Key:
    if isinstance(moved, SagaMove):
        return Key("saga", moved.saga, moved.correlation_id)
    return Key("gather", moved.route, moved.correlation_id)


def _compensates(moved: SagaMove) -> bool:
    return any(isinstance(action, Compensate) for action in moved.outcome.actions)


def _sent(
    kind: str,
    saga: str | None,
    route: str | None,
    correlation_id: str,
    outcome: str | None,
    message: Message,
    now: float,
) -> OutputRow:
    """The row of a message that is to be sent."""
    return OutputRow(
        kind,
        saga,
        route,
        correlation_id,
        outcome,
        id=message.id,
        subject=message.subject,
        metadata=message.metadata,
        body=message.body,
        content_type=message.content_type,
        causation_id=message.causation_id,
        time=now,
    )
