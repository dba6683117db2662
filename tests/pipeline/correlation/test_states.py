"""What messages and the time do to a bucket, without Spark."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.message import Message
from pointsman.pipeline.correlation.bucket import Bucket
from pointsman.pipeline.correlation.rows import COMMAND, MOVE, OutputRow
from pointsman.pipeline.correlation.states import CIRCLE, MOST_GENERATIONS, MOST_TIMEOUTS, States, part_of, tables_of
from pointsman.routing.saga import machine
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key
from tests.pipeline.correlation.reference import SAGA, TABLE, Moved, Sent, event, random_events, seconds, threaded
from tests.routing import order_saga as order

END = 1_005_400.0
"""All timeouts have come, and none so often that it would be taken less often."""


def states_of(table: RoutingTable, bucket: Bucket, *, exact: bool) -> States:
    """The states of a bucket, as a worker has them."""
    return States(tables_of(json.dumps(part_of(table))), bucket, exact=exact)


class Run:
    """A bucket that is written and read again between batches."""

    def __init__(self, table: RoutingTable = TABLE, *, exact: bool = True) -> None:
        self.table = table
        self.exact = exact
        self.blob = Bucket().encode()
        self.rows: list[OutputRow] = []

    def batch(self, messages: list[Message], present: float | None = None) -> list[OutputRow]:
        """A batch of messages; the time at its end, if timers are looked at then."""
        bucket = Bucket(self.blob)
        states = states_of(self.table, bucket, exact=self.exact)
        for message in messages:
            states.handle(message, seconds(message) if self.exact or present is None else present)
        if present is not None:
            states.expire(present)
        self.blob = bucket.encode()
        self.rows += states.rows
        return states.rows


def seen(rows: list[OutputRow], correlation_id: str) -> list[Sent | Moved]:
    """The rows of one correlation id, as the reference has them."""
    found: list[Sent | Moved] = []
    for row in rows:
        if row.correlation_id != correlation_id:
            continue
        if row.kind == COMMAND:
            assert row.subject is not None
            found.append(Sent(row.subject, None if row.causation_id is None else row.id, row.causation_id))
        else:
            assert row.kind == MOVE
            assert row.outcome is not None
            found.append(Moved(row.outcome, row.path or (), row.reason, row.causation_id, row.time))
    return found


@given(st.integers(0, 10**9), st.lists(st.integers(1, 12), min_size=1, max_size=8))
def test_by_the_exact_clock_it_makes_no_difference_how_events_are_cut_into_batches(seed: int, cuts: list[int]) -> None:
    """Each correlation id gets what the pure functions give it when every timeout is taken at its time."""
    events = random_events(random.Random(seed), 4, 8)
    run, start = Run(), 0
    for size in [*cuts, len(events)]:
        chosen = events[start : start + size]
        start += len(chosen)
        # The watermark is never past an event that is still to come.
        run.batch(chosen, seconds(events[start]) if start < len(events) else END)
    for correlation_id in {each.correlation_id or "" for each in events}:
        mine = [each for each in events if each.correlation_id == correlation_id]
        assert seen(run.rows, correlation_id) == threaded(mine, END)


def test_at_the_time_of_the_batch_a_timeout_is_taken_once_and_counts_from_then() -> None:
    """As in the broker: who was away for an hour has not waited for each of the minutes."""
    run = Run(exact=False)
    run.batch([event(order.CREATED, "1", "7", 0.0), event(order.PAYMENT_RESERVED, "2", "7", 0.0)], 1000.0)
    [*_, moved] = run.batch([], 5000.0)
    assert (moved.path, moved.time) == (("inventory_unavailable", "release_payment"), 5000.0)
    assert run.batch([], 5059.0) == []
    assert [row.subject for row in run.batch([], 5060.0)] == [order.RELEASE_PAYMENT, None]


def test_an_event_takes_the_timeout_that_is_due_before_it() -> None:
    """At the time of the batch this is one move of the event, as in the broker."""
    run = Run(exact=False)
    run.batch([event(order.CREATED, "1", "7", 0.0)], 1000.0)
    bucket = Bucket(run.blob)
    states = states_of(TABLE, bucket, exact=False)
    states.handle(event(order.PAYMENT_RESERVED, "2", "7", 0.0), 1031.0)
    assert [(row.kind, row.outcome, row.causation_id) for row in states.rows] == [
        ("command", None, "2"),
        ("move", "compensated", "2"),
    ]
    assert states.rows[-1].reason == "the saga has ended in 'compensation_completed'"


def test_the_commands_of_a_timeout_have_the_same_ids_however_often_they_are_worked_out() -> None:
    """So that a sink that knows them writes them once; those of the next timeout of the same state have others."""
    ids = []
    for _ in range(2):
        run = Run()
        run.batch([event(order.CREATED, "1", "7", 100.0), event(order.PAYMENT_RESERVED, "2", "7", 101.0)])
        run.batch([], 400.0)
        ids.append([row.id for row in run.rows if row.kind == COMMAND])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == len(ids[0]) == 2 + 2 + 3


def test_a_clock_that_jumps_takes_a_limited_number_of_timeouts_one_after_the_other() -> None:
    """And the next one at the present, so that a saga that waits for ever does not stop the stream."""
    run = Run()
    run.batch([event(order.CREATED, "1", "7", 0.0), event(order.PAYMENT_RESERVED, "2", "7", 1.0)])
    rows = [row for row in run.batch([], 1e9) if row.kind == MOVE]
    assert len(rows) == MOST_TIMEOUTS + 1
    assert rows[-1].time == 1e9
    assert Bucket(run.blob).earliest == 1e9 + 60


def test_a_message_that_is_none_of_its_states_changes_nothing_and_says_so() -> None:
    """An unknown correlation id is a problem; a message that concerns nothing leaves no row."""
    run = Run()
    [row] = run.batch([event(order.PAYMENT_RESERVED, "1", "7", 1.0)])
    assert (row.kind, row.outcome) == ("move", "problem")
    assert row.reason == "'order' has no saga '7', and 'payments.events.payment.reserved' does not start one"
    assert run.batch([event("some.thing", "2", "7", 1.0)]) == []
    assert len(Bucket(run.blob)) == 0


def test_a_state_that_the_table_does_not_have_any_more_is_a_problem_and_not_an_end() -> None:
    """Neither of the stream nor of the other sagas; the entry stays for whoever repairs the table."""
    run = Run()
    run.batch([event(order.CREATED, "1", "7", 100.0)])
    states = {"waiting": {"edges": [{"on": "x.y", "to": "done"}]}, "done": {"final": True}}
    run.table = RoutingTable.from_plain(
        {"sagas": {"order": {"starts": [{"on": "x.start", "to": "waiting"}], "states": states}}}
    )
    [row] = run.batch([event("x.start", "2", "8", 200.0)], 300.0)[1:]
    assert (row.correlation_id, row.outcome) == ("7", "problem")
    assert row.reason == "the saga 'order' has no state 'payment_processing' of 'order'"
    [row] = run.batch([event("x.y", "3", "7", 301.0)], 300.0)
    assert (row.correlation_id, row.outcome) == ("7", "problem")
    assert set(Bucket(run.blob)) == {Key("saga", "order", "7"), Key("saga", "order", "8")}


def test_an_ignored_event_leaves_the_bucket_as_it_is() -> None:
    """So that nothing is written for it."""
    run = Run()
    run.batch([event(order.CREATED, "1", "7", 100.0)])
    bucket = Bucket(run.blob)
    states = states_of(TABLE, bucket, exact=True)
    states.handle(event(order.CREATED, "1", "7", 101.0), 101.0)
    assert [row.outcome for row in states.rows] == ["ignored"]
    assert not bucket.is_changed


def ask(id: str = "ask", time: float = 100.0, **metadata: str) -> Message:
    """A request."""
    return event("prices.ask", id, "7", time, metadata=metadata)


def answer(target: str, body: str, id: str, time: float = 101.0) -> Message:
    """An answer to it."""
    return event("prices.answer", id, "7", time, metadata={"target": target}, body=body.encode())


def test_a_request_that_comes_twice_is_asked_once() -> None:
    """The answers that are there stay; another request of the same correlation id begins anew."""
    run = Run()
    run.batch([ask()])
    run.batch([answer("one", "{}", "a"), ask()])
    assert [(row.kind, row.outcome) for row in run.rows] == [
        ("request", "asked"),
        ("answer", "taken"),
        ("request", "duplicate"),
    ]
    key = Key("gather", "prices", "7")
    assert len(Bucket(run.blob)[key].as_data()["answers"]) == 1  # type: ignore[arg-type]
    run.batch([ask("again")])
    assert Bucket(run.blob)[key].as_data()["answers"] == []


def test_half_a_character_in_an_answer_is_in_the_result_as_json_names_it() -> None:
    """JSON can name what no text can hold; the result is JSON."""
    run = Run()
    run.batch([ask(), answer("one", '{"price": 1, "of": "\\ud800"}', "a")])
    [row] = run.batch([], 200.0)
    assert (row.kind, row.outcome) == ("result", "timeout")
    assert json.loads(row.body or b"")["reason"] == "timeout"


def test_a_gathering_is_forgotten_a_minute_after_its_deadline() -> None:
    """Until then late answers are known as such; afterwards nothing was asked."""
    run = Run()
    run.batch([ask(**{"reply-to": "inbox.1"})])
    [result] = run.batch([], 106.0)
    assert (result.outcome, result.subject, result.time) == ("timeout", "inbox.1", 105.0)
    content = json.loads(result.body or b"")
    assert content == {
        "result": None,
        "source": None,
        "answers": [],
        "missing": ["one", "two", "three"],
        "reason": "timeout",
    }
    assert [row.outcome for row in run.batch([answer("one", "1", "a", 164.0), answer("two", "1", "b", 165.0)])] == [
        "late",
        "problem",
    ]
    assert len(Bucket(run.blob)) == 0


@pytest.mark.parametrize("exact", [True, False])
def test_the_timer_is_wanted_at_the_earliest_time_at_which_something_is_due(exact: bool) -> None:
    """Of all sagas and gatherings of the bucket; a finished saga is due when it may be forgotten."""
    run = Run(exact=exact)
    run.batch([event(order.CREATED, "1", "6", 100.0), event(order.CREATED, "2", "7", 90.0), ask()])
    assert Bucket(run.blob).earliest == 105.0
    run.batch([event(order.PAYMENT_FAILED, "3", "7", 101.0)])
    bucket = Bucket(run.blob)
    assert bucket.due(Key("saga", "order", "7")) == 101.0 + SAGA.forget_after
    state = bucket[Key("saga", "order", "6")]
    assert isinstance(state, machine.SagaState)
    assert bucket.due(Key("saga", "order", "6")) == machine.due(SAGA, state) == 130.0


CHAIN = """
sagas:
  order:
    starts: [{on: orders.new, to: placed, send: [parcels.pack]}]
    states: {placed: {edges: [{on: parcels.gone, to: done}]}, done: {final: true}}
  parcel:
    starts: [{on: boxes.pack, to: packed, send: [parcels.gone]}]
    states: {packed: {final: true}}
translations: {rules: [{from: "parcels.pack", to: "boxes.pack"}]}
"""


def test_a_command_that_is_an_event_of_a_saga_moves_it() -> None:
    """Under the subject that the translations make of it; its own commands are followed in turn."""
    run = Run(RoutingTable.parse(CHAIN))
    rows = run.batch([event("orders.new", "1", "order-1", 1)])
    assert [(row.kind, row.saga, row.subject or row.path) for row in rows] == [
        (COMMAND, "order", "parcels.pack"),
        (MOVE, "order", ("placed",)),
        (COMMAND, "parcel", "parcels.gone"),
        (MOVE, "parcel", ("packed",)),
        (MOVE, "order", ("done",)),
    ]
    assert [rows[3].causation_id, rows[4].causation_id] == [rows[0].id, rows[2].id]
    assert run.batch([event("orders.new", "1", "order-1", 1)])[0].outcome == "ignored"


def test_commands_that_go_round_in_a_circle_are_followed_so_often_and_no_more() -> None:
    """They are sent all the same; a row says that they move nothing any more."""
    sagas: dict[str, Any] = {}
    for name, other in (("ping", "pong"), ("pong", "ping")):
        turn = {"on": name, "send": [other]}
        states = {state: {"edges": [{**turn, "to": to}]} for state, to in (("here", "there"), ("there", "here"))}
        sagas[name] = {"starts": [{**turn, "to": "here"}], "states": states}
    rows = Run(RoutingTable.from_plain({"sagas": sagas})).batch([event("ping", "1", "order-1", 1)])
    assert [row.subject for row in rows if row.kind == COMMAND] == ["pong", "ping"] * (MOST_GENERATIONS // 2) + ["pong"]
    assert (rows[-1].outcome, rows[-1].reason) == ("problem", CIRCLE)
    assert [row.outcome for row in rows].count("problem") == 1


def test_a_result_that_is_an_event_of_a_saga_moves_it() -> None:
    """It has the correlation id of the request."""
    table = RoutingTable.parse("""
    destinations: {one: {}, two: {}}
    routes:
      - name: prices
        pattern: prices.ask
        strategy: scatter-gather
        gather: {timeout: 5, answers: prices.answer}
        destinations: [one, two]
    sagas:
      offer:
        starts: [{on: prices.ask, to: asking}]
        states: {asking: {edges: [{on: prices.found, to: done}]}, done: {final: true}}
    """)
    run = Run(table)
    request = event("prices.ask", "1", "offer-1", 1, metadata={"reply-to": "prices.found"})
    answers = [event("prices.answer", name, "offer-1", 2, metadata={"target": name}) for name in ("one", "two")]
    rows = run.batch([request, *answers])
    assert [(row.kind, row.outcome) for row in rows][-2:] == [("result", "all"), (MOVE, "completed")]
