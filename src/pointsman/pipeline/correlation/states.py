"""What messages, and the time, do to the sagas and gatherings of a bucket.

What anything means is said elsewhere: ``RoutingTable.decide`` and ``RoutingTable.expire`` move the states, and the
messages that follow are those of the broker. Here is decided at which time: by an exact clock, a state is moved at the
very time at which it was due, before anything later is looked at; otherwise at the present, as in the broker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from pointsman.broker.derived import RESULT_TYPE, derived_id, result_body
from pointsman.broker.publish import REPLY_TO
from pointsman.broker.state import LATE, due_of
from pointsman.errors import PointsmanError, SubjectError
from pointsman.message import Message
from pointsman.pipeline.correlation.bucket import Bucket, Notes
from pointsman.pipeline.correlation.rows import ANSWER, COMMAND, DERIVED, MOVE, REQUEST, RESULT, OutputRow
from pointsman.routing.gather import Drop, GatherState, Reason
from pointsman.routing.saga.definition import Command
from pointsman.routing.saga.machine import Compensate, Complete
from pointsman.table.correlate import EVENT, Followers, Gathering, SagaMove
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, Value

COMMON = ("version", "dialect", "translations")
"""The keys of a table that every part of it has."""
MOST_TIMEOUTS = 100
"""Timeouts that one state takes one after the other by the exact clock; the next one is taken at the present."""
MOST_GENERATIONS = 16
"""How often commands and results may move what sends further ones, from one message."""
OUTCOMES = (
    (COMMAND, ""),
    *((MOVE, outcome) for outcome in ("moved", "completed", "compensated", "ignored", "problem")),
    *((REQUEST, outcome) for outcome in ("asked", "duplicate")),
    *((ANSWER, outcome) for outcome in ("taken", *(dropped.value for dropped in Drop), "problem")),
    *((RESULT, reason.value) for reason in Reason),
)
"""The kinds of rows that come out, each with its outcomes."""
CIRCLE = f"not followed: {MOST_GENERATIONS} commands or results came before it, each from the one before"


def part_of(table: RoutingTable, *, sagas: bool = True, gatherings: bool = True) -> dict[str, Any]:
    """The part of a table that keeps states by correlation id, as plain data: sagas and scatter-gather routes.

    Which routes take a message depends on others only among the strategies that compete, which scatter-gather is none
    of, so the part decides as the whole table does. Access and breakers are left out: messages were let in before, and
    breakers decide where a request goes and not who is asked. The translations are for the messages that follow.
    """
    kept = {key: value for key, value in table.plain.items() if key in COMMON}
    if sagas:
        kept["sagas"] = table.plain.get("sagas") or {}
    if gatherings:
        routes = table.plain.get("routes") or []
        kept["routes"] = [route for route in routes if route.get("strategy") == "scatter-gather"]
    return kept


class Tables(NamedTuple):
    """A part of a table, and what translates the messages that follow."""

    part: RoutingTable
    followers: Followers
    translate: Callable[[str], str]

    def concern(self, subject: str | None) -> bool:
        """Whether a message of this subject may move or begin something, whatever event it names."""
        if subject is None:
            return False
        try:
            taken = bool(self.part.index.match(subject))
        except SubjectError:
            taken = False
        return taken or bool(self.followers.concerned(subject, named=False))

    def follower(self, row: OutputRow) -> Message | None:
        """The message that a row is, translated, if it may move or begin something."""
        if row.subject is None:
            return None
        named = any(key == EVENT for key, _ in row.metadata or ())
        try:
            subject = self.translate(row.subject)
        except PointsmanError:
            return None  # Routing it says what is wrong with it.
        if self.concern(subject) or (named and self.followers.concerned(subject, named=True)):
            return row.message(subject)
        return None


@lru_cache(maxsize=8)
def tables_of(text: str) -> Tables:
    """The tables of a part as JSON, read once in the life of a worker."""
    plain = json.loads(text)
    part = RoutingTable.from_plain({key: value for key, value in plain.items() if key != "translations"})
    translating = RoutingTable.from_plain({key: plain[key] for key in COMMON if key in plain})
    translate = translating.translate if translating.translations else str
    return Tables(part, Followers(part.sagas, part.routes, part.dialect), translate)


class States(Mapping[Key, Value]):
    """The states of a bucket while messages are handled; as a mapping, those at the time of the message in hand.

    ``rows`` are what came of it, in their order.
    """

    def __init__(self, tables: Tables, bucket: Bucket, *, exact: bool) -> None:
        self._tables = tables
        self._table = tables.part
        self._bucket = bucket
        self._exact = exact
        self._now = 0.0
        self._followed = 0
        """How many of the rows have been looked through for messages that move something in turn."""
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
        """Moves what the message moves, and what follows from that. What is wrong becomes a row; nothing is raised."""
        self._handle(message, now)
        self._follow_on()

    def expire(self, now: float) -> None:
        """Moves what is due at this time, and what follows from that."""
        for key in self._bucket.due_by(now):
            self._catch_up(key, now)
        self._follow_on()

    def refuse(self, correlation_id: str, cause: str | None, problem: str, now: float) -> None:
        """A row for a message that cannot be used."""
        row = OutputRow(MOVE, None, None, correlation_id, "problem", problem, causation_id=cause, time=now)
        self.rows.append(row)

    def _handle(self, message: Message, now: float) -> None:
        self._now = now
        try:
            self._decide(message, now)
        except PointsmanError as error:
            self.refuse(message.correlation_id or message.id, message.id, error.problem, now)

    def _follow_on(self) -> None:
        """Handles the commands and results among the new rows that concern a saga or a gathering themselves."""
        generation = 0
        while rows := [row for row in self.rows[self._followed :] if row.kind in DERIVED]:
            self._followed = len(self.rows)
            for row in rows:
                message = self._tables.follower(row)
                if message is not None and generation < MOST_GENERATIONS:
                    self._handle(message, row.time)
                elif message is not None:
                    self.refuse(row.correlation_id, row.id, CIRCLE, row.time)
            generation += 1
        self._followed = len(self.rows)

    def _decide(self, message: Message, now: float) -> None:
        decision = self._table.decide(message, self, now=now)
        answered = set()
        for moved in decision.followed:
            key = _key_of(moved)
            answered.add(key)
            after = decision.changes.get(key)
            if isinstance(moved, SagaMove):
                self.rows += _saga_rows(moved, message, self._bucket.notes(key), now)
            else:
                self.rows += _gathering_rows(moved, message.id, self._bucket.notes(key), now)
            if after is not None:
                self._put(key, after, self._notes_after(key, moved))
        for key, after in decision.changes.items():
            if key not in answered and isinstance(after, GatherState):
                self._begin(key, after, message, now)

    def _begin(self, key: Key, state: GatherState, request: Message, now: float) -> None:
        """Begins to gather, unless the same request has come before."""
        again = self._bucket.notes(key).get("request") == request.id
        outcome = "duplicate" if again else "asked"
        row = OutputRow(REQUEST, None, key.name, key.correlation_id, outcome, causation_id=request.id, time=now)
        self.rows.append(row)
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
            self.refuse(key.correlation_id, None, error.problem, now)
            return
        for moved in decision.followed:
            if isinstance(moved, SagaMove):
                cause = f"{key.name}\0{key.correlation_id}\0{getattr(value, 'state', '')}\0{due!r}"
                self.rows += _saga_rows(moved, cause, self._bucket.notes(key), now)
            else:
                self.rows += _gathering_rows(moved, None, self._bucket.notes(key), now)
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
        if isinstance(moved, SagaMove) and any(isinstance(action, Compensate) for action in moved.outcome.actions):
            return {**notes, "compensated": True}
        return notes


def _key_of(moved: SagaMove | Gathering) -> Key:
    if isinstance(moved, SagaMove):
        return Key("saga", moved.saga, moved.correlation_id)
    return Key("gather", moved.route, moved.correlation_id)


def _saga_rows(moved: SagaMove, cause: Message | str, notes: Notes, now: float) -> Iterator[OutputRow]:
    """The commands and the move; a cause that is no message is a text that names the timeout."""
    if isinstance(cause, Message):
        caused, source, body, content_type = cause.id, cause.id, cause.body, cause.content_type
    else:
        # The same one however often Spark has to work it out.
        caused, source, body, content_type = None, cause, b"", None
    saga, correlation_id = moved.saga, moved.correlation_id
    ends = undoes = False
    number = 0
    for action in moved.outcome.actions:
        if isinstance(action, Complete):
            ends = True
            continue
        undoes = undoes or isinstance(action, Compensate)
        for command in action.commands:
            yield OutputRow(
                COMMAND,
                saga,
                None,
                correlation_id,
                id=derived_id(source, f"{saga}\0{number}\0{command.subject}"),
                subject=command.subject,
                metadata=_metadata(command, saga),
                body=body,
                content_type=content_type,
                causation_id=caused,
                time=now,
            )
            number += 1
    reason = moved.problem or moved.outcome.ignored
    path = moved.outcome.path
    if moved.problem is not None:
        outcome = "problem"
    elif not path:
        outcome = "ignored"
    elif ends:
        outcome = "compensated" if undoes or notes.get("compensated", False) else "completed"
    else:
        outcome = "moved"
    yield OutputRow(MOVE, saga, None, correlation_id, outcome, reason, path, causation_id=caused, time=now)


def _gathering_rows(moved: Gathering, cause: str | None, notes: Notes, now: float) -> Iterator[OutputRow]:
    """The answer, if it was one, and the result, if this completed it."""
    route, correlation_id = moved.route, moved.correlation_id
    if cause is not None:
        dropped = moved.outcome.dropped
        outcome = "problem" if moved.problem is not None else "taken" if dropped is None else dropped.value
        yield OutputRow(ANSWER, None, route, correlation_id, outcome, moved.problem, causation_id=cause, time=now)
    if moved.gathered is None:
        return
    yield OutputRow(
        RESULT,
        None,
        route,
        correlation_id,
        moved.gathered.reason.value,
        id=derived_id(str(notes.get("request")), f"{route}\0result"),
        subject=notes.get("reply_to"),
        metadata=(("gathered", route),),
        body=result_body(moved.gathered),
        content_type=RESULT_TYPE,
        time=now,
    )


@lru_cache(maxsize=1024)
def _metadata(command: Command, saga: str) -> tuple[tuple[str, str], ...]:
    """Those of a command as it is sent."""
    return tuple((dict(command.metadata) | {"saga": saga}).items())
