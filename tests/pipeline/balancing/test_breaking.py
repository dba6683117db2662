"""Breakers are asked before a micro-batch and told after it; with batches of one message they are those of decide."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, Row, SparkSession

from pointsman import Message
from pointsman.pipeline.breaking import Outcome, answers, ask, report
from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerState, Phase, Way
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

SCHEMA = "route string, destination string, position bigint"
STEPS = 6
OPEN = BreakerState(Phase.OPEN, 0, 1, 100.0)


def table_of(destinations: dict[str, Any], routes: list[dict[str, Any]]) -> RoutingTable:
    """A table of these destinations and routes."""
    return RoutingTable.parse(json.dumps({"destinations": destinations, "routes": routes}))


GUARDED = {"failures": 2, "reset": 10, "probe": 5}
TABLE = table_of(
    {
        "a": {"breaker": GUARDED | {"fallback": "spare"}},
        "b": {"breaker": GUARDED},
        "spare": {"breaker": GUARDED},
        "free": None,
    },
    [
        {"name": "late", "pattern": "both", "destinations": ["a"], "priority": 1},
        {"name": "all", "pattern": ">", "destinations": ["free", "a", "b"]},
    ],
)


def deliveries(spark: SparkSession, *rows: tuple[str | None, str | None, int | None]) -> DataFrame:
    """Deliveries in two partitions."""
    return spark.createDataFrame(list(rows), SCHEMA).repartition(2)


def by_position(asked: DataFrame) -> list[Row]:
    """The rows in the order of the messages."""
    return asked.orderBy("position", "route").collect()


def having(**states: BreakerState) -> State:
    """A state of these breakers."""
    return State({Key("breaker", name): value for name, value in states.items()})


SETTINGS = st.fixed_dictionaries(
    {"failures": st.integers(1, 3), "reset": st.integers(1, 9), "probe": st.integers(1, 9)},
    optional={"fallback": st.sampled_from(["spare", "other"])},
)
SECONDS = st.sampled_from([0, 0.5, 1, 4, 5, 9, 20])


@st.composite
def lives(draw: st.DrawFn) -> tuple[dict[str, Any], list[tuple[float, float, bool | None]]]:
    """The settings of a breaker, and for each message how long after the last, how long it took, what became of it."""
    steps = st.tuples(SECONDS, SECONDS, st.sampled_from([True, False, False, None]))
    return draw(SETTINGS), draw(st.lists(steps, min_size=STEPS, max_size=STEPS))


@settings(max_examples=2, deadline=None)
@given(st.lists(lives(), min_size=20, max_size=40))
def test_batches_of_one_message_go_where_decide_sends_them(spark: SparkSession, generated: list[Any]) -> None:
    """The state after each is that of decide and of the broker; where each goes is asked for all of them in one job."""
    destinations, expected, together = {}, [], State()
    for life, (written, steps) in enumerate(generated):
        routes = [{"name": "r", "pattern": ">", "destinations": ["d"]}]
        table = table_of({"d": {"breaker": written}, "spare": None, "other": None}, routes)
        state, now = State(), 0.0
        for step, (wait, took, result) in enumerate(steps):
            now += wait
            asked, before = now, state
            decision = table.decide(Message("s"), before, now=asked)
            delivery = decision.deliveries[0]
            now += took
            state = in_process(table, decision.state, delivery.permit, result, now)
            outcome = Outcome(int(result is True), int(result is False))
            assert report(table, before, {"d": outcome}, asked=asked, now=now) == state
            name = f"{life}.{step}"
            destinations[name] = {"breaker": written}
            together = together.updated({Key("breaker", name): moved_back(before, asked)})
            probe = delivery.permit is not None and delivery.permit.way is Way.PROBE
            waits = delivery.permit is not None and delivery.permit.way is Way.FALLBACK
            to, instead_of = (name, None) if delivery.instead_of is None else (delivery.destination, name)
            expected.append((to, instead_of, probe, waits))
    named = [{"name": "r", "pattern": ">", "destinations": [*destinations]}]
    table = table_of(destinations | {"spare": None, "other": None}, named)
    rows = [("r", name, position) for position, name in enumerate(destinations)]
    got = by_position(ask(deliveries(spark, *rows), table, together, 0.0))
    assert [(row.destination, row.instead_of, row.probe, row.waits) for row in got] == expected


def in_process(
    table: RoutingTable, state: State, permit: breaker.Permit | None, result: bool | None, now: float
) -> State:
    """The state after the result is told, as the embedded broker does it."""
    guarded = table.destinations["d"].breaker
    assert guarded is not None
    if permit is None or result is None:
        return state
    tell = breaker.succeeded if result else breaker.failed
    known = breaker_in(state)
    after = tell(guarded, known, permit, now)
    return state if after is known else state.updated({Key("breaker", "d"): after})


def breaker_in(state: State) -> BreakerState:
    """The breaker of the one destination."""
    found = state.get(Key("breaker", "d"), BreakerState())
    assert isinstance(found, BreakerState)
    return found


def moved_back(state: State, by: float) -> BreakerState:
    """The breaker as it would be if its clock showed so many seconds less: on Spark all are asked at one time."""
    known = breaker_in(state)
    return BreakerState(known.phase, known.failures, known.generation, known.since - by)


def test_while_all_are_closed_every_delivery_goes_where_it_was_sent(spark: SparkSession) -> None:
    """Without a job and without a join."""
    asked = ask(deliveries(spark, ("all", "a", 0), ("all", "free", 0), (None, None, 1)), TABLE, State(), 0.0)
    assert "Join" not in asked._jdf.queryExecution().executedPlan().toString()
    assert {(row.destination, row.instead_of, row.probe, row.waits) for row in asked.collect()} == {
        ("a", None, False, False),
        ("free", None, False, False),
        (None, None, False, False),
    }


def test_an_open_breaker_sends_a_whole_batch_to_the_fallback_or_makes_it_wait(spark: SparkSession) -> None:
    """Other destinations, and rows that have a problem, are left as they are."""
    rows = [("all", "a", 0), ("all", "b", 1), ("all", "free", 2), ("all", "a", 3), (None, None, 4)]
    asked = ask(deliveries(spark, *rows), TABLE, having(a=OPEN, b=OPEN, spare=OPEN), 105.0)
    assert [tuple(row)[1:] for row in by_position(asked.drop("problem"))] == [
        ("spare", 0, "a", False, False),
        ("b", 1, None, False, True),
        ("free", 2, None, False, False),
        ("spare", 3, "a", False, False),
        (None, 4, None, False, False),
    ]


def test_one_delivery_of_a_batch_tries_a_destination_again_and_it_is_the_first(spark: SparkSession) -> None:
    """By the order of the messages, and within one message by the order of decide: that of the table."""
    rows = [("all", "a", 7), ("late", "a", 3), ("all", "a", 3), ("all", "b", 9), ("all", "b", 8)]
    state = having(a=OPEN, b=OPEN)
    asked = ask(deliveries(spark, *rows), TABLE, state, 110.0)
    assert [(row.position, row.route, row.destination, row.probe, row.waits) for row in by_position(asked)] == [
        (3, "all", "spare", False, False),
        (3, "late", "a", True, False),
        (7, "all", "spare", False, False),
        (8, "all", "b", True, False),
        (9, "all", "b", False, True),
    ]
    first = TABLE.decide(Message("both"), state, now=110.0).deliveries
    assert [(each.route, each.destination) for each in first if each.destination in ("a", "spare")] == [
        ("late", "a"),
        ("all", "spare"),
    ]


def test_a_row_with_a_problem_is_no_probe(spark: SparkSession) -> None:
    """The first one that can be sent is."""
    problem = "problem struct<stage:string,code:string,reason:string>"
    rows = [("all", "a", 0, ("x", "y", "z")), ("all", "a", 1, None)]
    asked = ask(spark.createDataFrame(rows, f"{SCHEMA}, {problem}"), TABLE, having(a=OPEN), 110.0)
    assert [(row.destination, row.probe) for row in by_position(asked)] == [("a", False), ("a", True)]


@pytest.mark.parametrize(
    ("before", "outcome", "phase", "failures"),
    [
        (BreakerState(), Outcome(5, 0), Phase.CLOSED, 0),
        (BreakerState(failures=1), Outcome(0, 1), Phase.OPEN, 0),
        (BreakerState(failures=1), Outcome(5, 1), Phase.CLOSED, 1),
        (BreakerState(), Outcome(5, 2), Phase.OPEN, 0),
        (BreakerState(), Outcome(0, 10**9), Phase.OPEN, 0),
        (BreakerState(failures=1), Outcome(0, 0), Phase.CLOSED, 1),
        (OPEN, Outcome(1, 0), Phase.CLOSED, 0),
        (OPEN, Outcome(0, 1), Phase.OPEN, 0),
        (OPEN, Outcome(0, 0), Phase.HALF_OPEN, 0),
    ],
)
def test_the_results_of_a_batch_move_a_breaker(
    before: BreakerState, outcome: Outcome, phase: Phase, failures: int
) -> None:
    """Some that succeeded come first, then those that failed; a probe that is not heard of stays under way."""
    after = report(TABLE, having(a=before), {"a": outcome}, asked=110.0, now=111.0)[Key("breaker", "a")]
    assert isinstance(after, BreakerState)
    assert (after.phase, after.failures) == (phase, failures)


def test_only_what_is_reported_of_guarded_destinations_changes_the_state() -> None:
    """A breaker that nothing was for is not moved, not even by the time."""
    state = having(a=OPEN, b=BreakerState(Phase.HALF_OPEN, 0, 2, 100.0))
    assert report(TABLE, state, {"free": Outcome(0, 9), "gone": Outcome(0, 9)}, asked=200.0, now=200.0) is state
    assert {name: answer.first.way for name, answer in answers(TABLE, state, 200.0).items()} == {
        "a": Way.PROBE,
        "b": Way.PROBE,
        "spare": Way.PRIMARY,
    }
