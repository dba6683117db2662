"""What messages, and the time, do to the sagas and gatherings of a bucket.

What anything means is said elsewhere: ``RoutingTable.decide`` and ``RoutingTable.expire`` move the states, and the
messages that follow are those of the broker. Here is decided at which time: by an exact clock, a state is moved at the
very time at which it was due, before anything later is looked at; otherwise at the present, as in the broker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pointsman.broker.publishing import REPLY_TO
from pointsman.broker.state import LATE, due_of
from pointsman.errors import PointsmanError
from pointsman.message import Message
from pointsman.pipeline.stateful.bucket import Bucket, Notes
from pointsman.pipeline.stateful.concerned import concerned_by
from pointsman.pipeline.stateful.reports import compensates, gathering_rows, saga_rows
from pointsman.pipeline.stateful.rows import MOVE, REQUEST, OutputRow
from pointsman.routing.gather import scatter
from pointsman.routing.gather_state import GatherState
from pointsman.routing.saga import SagaEvent
from pointsman.table.followed import EVENT, Gathering, SagaMove
from pointsman.table.route import Route
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
        self._concerned = concerned_by(table)
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
        concern = self._concerned.by(message)
        try:
            if concern.asks:
                self._ask(concern.asks, message, now)
            elif concern.moves is None or not self._move(*concern.moves, message, now):
                self._decide(message, now)
        except PointsmanError as error:
            self.refuse(message.correlation_id or message.id, message.id, error, now)

    def _ask(self, routes: Iterable[Route], request: Message, now: float) -> None:
        """Begins what the table would begin, which a failure of one of the routes keeps from all of them."""
        correlation_id = request.correlation_id or request.id
        begun = [
            (Key("gather", route.name, correlation_id), scatter(route.gather, correlation_id, route.names, now))
            for route in routes
            if route.gather is not None
        ]
        for key, state in begun:
            self._begin(key, state, request, now)

    def _move(self, kind: str, name: str, message: Message, now: float) -> bool:
        """Moves the one thing that the message may move, if that can be done without the table."""
        key = Key(kind, name, message.correlation_id or message.id)
        return self._answer(key, message, now) if kind == "gather" else self._move_saga(key, message, now)

    def _answer(self, key: Key, message: Message, now: float) -> bool:
        made, after = self._concerned.followers.answer(key, self.get(key), message, now)
        notes = self._bucket.notes(key)
        self.rows += gathering_rows(made, message.id, notes, now)
        if after is not None:
            self._put(key, after, notes)
        return True

    def _move_saga(self, key: Key, message: Message, now: float) -> bool:
        before = self.get(key)
        event = SagaEvent(key.correlation_id, message.id, message.subject, message.metadata.get(EVENT))
        moved = self._concerned.moves[key.name].handle(before, event, now)
        if moved is None:
            return False
        made = SagaMove(key.name, key.correlation_id, moved.outcome)
        self.rows += saga_rows(made, message, self._bucket.notes(key), now)
        if moved.state is not before:
            self._bucket.put(key, moved.state, moved.due, self._notes_after(key, made))
        return True

    def _decide(self, message: Message, now: float) -> None:
        decision = self._table.decide(message, self, now=now)
        answered = set()
        for moved in decision.followed:
            key = _key_of(moved)
            answered.add(key)
            after = decision.changes.get(key)
            if isinstance(moved, SagaMove):
                self.rows += saga_rows(moved, message, self._bucket.notes(key), now)
            else:
                self.rows += gathering_rows(moved, message.id, self._bucket.notes(key), now)
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
        nothing = (None,) * 7
        self.rows.append(OutputRow(REQUEST, None, key.name, key.correlation_id, outcome, *nothing, request.id, now))
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
                self.rows += saga_rows(moved, cause, self._bucket.notes(key), now)
            else:
                self.rows += gathering_rows(moved, None, self._bucket.notes(key), now)
            after = decision.changes.get(key)
            if after is not None:
                self._put(key, after, self._notes_after(key, moved))
        if self._bucket.due(key) == due:
            # It is over, or the table knows nothing of it any more.
            self._bucket.drop(key)

    def _put(self, key: Key, value: Value, notes: Notes) -> None:
        if self._bucket.get(key) is not value:
            # Most of them are gatherings, for which ``due_of`` gives this by way of the table.
            if isinstance(value, GatherState):
                self._bucket.put(key, value, value.deadline + LATE if value.complete else value.deadline, notes)
            else:
                self._bucket.put(key, value, due_of(self._table, key, value), notes)

    def _notes_after(self, key: Key, moved: SagaMove | Gathering) -> Notes:
        notes = self._bucket.notes(key)
        if isinstance(moved, SagaMove) and compensates(moved):
            return {**notes, "compensated": True}
        return notes


def _key_of(moved: SagaMove | Gathering) -> Key:
    if isinstance(moved, SagaMove):
        return Key("saga", moved.saga, moved.correlation_id)
    return Key("gather", moved.route, moved.correlation_id)
