"""Breakers are asked before a micro-batch and told after it; with batches of one message they are those of decide."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from pointsman import Message, columns
from pointsman.columns.balance import answers
from pointsman.pipeline import route
from pointsman.pipeline.state.breakers import Outcome, report
from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerState, Phase, Way
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State

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


@given(st.lists(lives(), min_size=1, max_size=5))
def test_batches_of_one_message_go_where_decide_sends_them(generated: list[Any]) -> None:
    """The state after each is that of decide and of the broker."""
    for written, steps in generated:
        routes = [{"name": "r", "pattern": ">", "destinations": ["d"]}]
        table = table_of({"d": {"breaker": written}, "spare": None, "other": None}, routes)
        state, now = State(), 0.0
        for wait, took, result in steps:
            now += wait
            asked, before = now, state
            decision = table.decide(Message("s"), before, now=asked)
            delivery = decision.deliveries[0]
            told = columns.route(pa.table({"subject": ["s"]}), table, state=before, now=asked).deliveries.to_pylist()[0]
            way = None if delivery.permit is None else delivery.permit.way
            assert (told["destination"], told["instead_of"]) == (delivery.destination, delivery.instead_of)
            assert (told["probe"], told["waits"]) == (way is Way.PROBE, way is Way.FALLBACK)
            now += took
            state = in_process(table, decision.state, delivery.permit, result, now)
            outcome = Outcome(int(result is True), int(result is False))
            assert report(table, before, {"d": outcome}, asked=asked, now=now) == state


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


def test_while_all_are_closed_every_delivery_goes_where_it_was_sent() -> None:
    """And nothing says otherwise."""
    found = routed(State(), 0.0, "x")
    assert found == [
        ("all", "a", None, False, False),
        ("all", "b", None, False, False),
        ("all", "free", None, False, False),
    ]


def test_an_open_breaker_sends_a_whole_batch_to_the_fallback_or_makes_it_wait() -> None:
    """The fallback's own breaker is not asked."""
    found = routed(having(a=OPEN, b=OPEN, spare=OPEN), 105.0, "x", "x")
    assert found == [
        *[("all", "b", None, False, True)] * 2,
        *[("all", "free", None, False, False)] * 2,
        *[("all", "spare", "a", False, False)] * 2,
    ]


def test_one_delivery_of_a_batch_tries_a_destination_again_and_it_is_the_first() -> None:
    """In the order of the messages and then of the routes; messages with a problem are no probe."""
    found = routed(having(a=OPEN), 110.0, "x..y", "both", "x")
    assert [each for each in found if each[3]] == [("late", "a", None, True, False)]
    assert [each for each in found if each[2] == "a"] == [("all", "spare", "a", False, False)] * 2


@pytest.mark.spark
@pytest.mark.xdist_group("spark, too")
def test_one_delivery_tries_a_destination_again_however_many_partitions_there_are(spark: SparkSession) -> None:
    """On Spark, where each partition is decided for itself."""
    messages = spark.range(40).selectExpr("'x' AS subject", "cast(id AS string) AS id").repartition(4)
    rows = route(messages, TABLE, state=having(a=OPEN), now=110.0).rows
    assert rows.where("probe").select("destination").collect() == [Row(destination="a")]
    assert rows.where("instead_of = 'a'").count() == 39


def routed(state: State, now: float, *subjects: str) -> list[tuple[Any, ...]]:
    """The route, the destination and what the breakers did to each delivery."""
    messages = pa.table({"subject": list(subjects)})
    rows = columns.route(messages, TABLE, state=state, now=now).deliveries.to_pylist()
    names = ("route", "destination", "instead_of", "probe", "waits")
    return sorted(tuple(row[name] for name in names) for row in rows)


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
