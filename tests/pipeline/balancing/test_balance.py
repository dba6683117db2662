"""Balanced routes over micro-batches choose what decide chooses message by message, and leave the same state."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman import Message
from pointsman.errors import InputError
from pointsman.pipeline.balancing import Balanced, balance, settled, taken
from pointsman.routing.balance import Kind
from pointsman.routing.balance_state import BalanceState
from pointsman.routing.sticky import stick
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

SCHEMA = "route string, strategy string, position bigint, balance_key string, subject string"
KINDS = ("round-robin", "weighted", "least-connections", "sticky")
NAMES = ("a", "b", "c", "d", "ü")


CASES = 40


class Batch(NamedTuple):
    """Messages in their order, and the table that they meet."""

    table: RoutingTable
    messages: list[Message]


def route_of(random: Random, case: int, number: int) -> dict[str, Any]:
    """A balanced route, or one that has nothing to choose, for subjects of its case alone."""
    pattern = f"{case}.{random.choice('*012')}"
    destinations = [
        {"name": name, "weight": random.randint(0, 6)} for name in random.choices(NAMES, k=random.randint(1, 5))
    ]
    kind = random.choice(KINDS)
    route = {"name": f"route {case} {number}", "pattern": pattern, "destinations": destinations}
    if random.random() < 0.1:
        return route
    key = {"key": "metadata['k']"} if kind == "sticky" else {}
    return route | {"strategy": "balanced", "balance": kind} | key


def message_of(random: Random, case: int) -> Message:
    """A message of a case; some are without a key."""
    metadata = {"k": f"customer {random.randint(1, 9)}"} if random.random() < 0.9 else {}
    return Message(f"{case}.{random.randint(0, 3)}", metadata=metadata)


def batches_of(random: Random) -> Iterator[Batch]:
    """Batches that follow each other; about half of the routes have another kind or other destinations in the next."""
    numbers = [(case, number) for case in range(CASES) for number in range(3)]
    written = {each: route_of(random, *each) for each in numbers}
    for _ in range(3):
        written = {each: route_of(random, *each) if random.random() < 0.5 else old for each, old in written.items()}
        changed = [shuffled(random, route) for route in written.values()]
        messages = [message_of(random, case) for case in range(CASES) for _ in range(random.randint(0, 20))]
        random.shuffle(messages)
        yield Batch(RoutingTable.parse(json.dumps({"routes": changed})), messages)


def shuffled(random: Random, route: dict[str, Any]) -> dict[str, Any]:
    """The route with its destinations in another order, at times."""
    others = [*route["destinations"]]
    if random.random() < 0.2:
        random.shuffle(others)
    return route | {"destinations": others}


def rows_of(batch: Batch) -> list[tuple[str | None, str | None, int, str | None, str]]:
    """A row for each message and route that takes it; one without a route where none does."""
    rows: list[tuple[str | None, str | None, int, str | None, str]] = []
    for position, message in enumerate(batch.messages):
        matched = batch.table.index.match(message.subject)
        rows += [
            (each.name, each.strategy, position, each.key(message) if each.key else None, message.subject)
            for each in matched
        ] or [(None, None, position, None, message.subject)]
    return rows


def frame_of(spark: SparkSession, rows: list[Any]) -> DataFrame:
    """The rows in two partitions, in no order."""
    return spark.createDataFrame(rows, SCHEMA).repartition(2, "subject", "position")


@settings(max_examples=2, deadline=None)
@given(st.integers(0, 2**32))
def test_batches_on_spark_are_decided_as_messages_one_after_the_other(spark: SparkSession, seed: int) -> None:
    """The destinations, the problems and the state, from batch to batch, while routes and destinations change."""
    state = expected_state = State()
    for batch in batches_of(Random(seed)):
        names = {route.name for route in batch.table.routes if route.balance is not None}
        expected: dict[tuple[int, str], str] = {}
        reasons: set[tuple[str, str]] = set()
        for position, message in enumerate(batch.messages):
            decision = batch.table.decide(message, expected_state, trace=True)
            expected_state = decision.state
            expected |= {
                (position, each.route): each.destination for each in decision.deliveries if each.route in names
            }
            sends = next(step for step in decision.trace if step.stage == "deliver").inner
            reasons |= {(step.stage, step.what) for step in sends if step.what.startswith("nothing is chosen")}
        rows = rows_of(batch)
        outcome = balance(frame_of(spark, rows), batch.table, state, seed=1)
        got = outcome.deliveries.collect()
        state = outcome.state()
        assert sorted((row.position, row.route or "") for row in got) == sorted((row[2], row[0] or "") for row in rows)
        sent = {(row.position, row.route): row.destination for row in got if row.destination is not None}
        assert sent == expected
        assert {(row.route, row.problem.reason) for row in got if row.problem is not None} == reasons
        assert state == expected_state
        state = expected_state = State.from_data(json.loads(json.dumps(state.as_data())))


def table_of(*written: dict[str, Any]) -> RoutingTable:
    """A table of these routes, balanced unless they say something else."""
    base = {"pattern": ">", "strategy": "balanced", "destinations": ["a", "b", "c"]}
    return RoutingTable.parse(json.dumps({"routes": [base | each for each in written]}))


def simple(spark: SparkSession, count: int, *names: str, key: str | None = None) -> DataFrame:
    """So many messages, each for all of these routes."""
    rows = [(name, "balanced", position, key, "s") for position in range(count) for name in names]
    return frame_of(spark, rows)


def sent_by(outcome: Balanced) -> dict[str, list[str | None]]:
    """The destinations by route, in the order of the messages."""
    found = defaultdict(list)
    for row in sorted(outcome.deliveries.collect(), key=lambda row: row.position):
        found[row.route].append(row.destination)
    return found


def plan_of(frame: DataFrame) -> str:
    """The plan that Spark will run."""
    text: str = frame._jdf.queryExecution().executedPlan().toString()
    return text


def test_random_is_fair_and_goes_by_seed_and_route(spark: SparkSession) -> None:
    """Another seed, and another route, choose otherwise; nothing is remembered."""
    table = table_of({"name": "r", "balance": "random"}, {"name": "q", "balance": "random"})
    messages = simple(spark, 300, "r", "q")
    outcome = balance(messages, table, State(), seed=1)
    first, other = sent_by(outcome), sent_by(balance(messages, table, State(), seed=2))
    assert first["r"] != other["r"]
    assert first["r"] != first["q"]
    assert all(70 <= first["r"].count(name) <= 130 for name in "abc")
    assert outcome.state() == State()


def test_only_routes_that_count_need_a_shuffle(spark: SparkSession) -> None:
    """A table of sticky and random routes, or without balanced ones, is decided where the rows are."""
    table = table_of({"name": "r", "balance": "random"}, {"name": "s", "balance": "sticky", "key": "subject"})
    messages = spark.range(4).selectExpr("'k' || id AS balance_key", "'r' || id AS route", "id AS position")
    assert "hashpartitioning" not in plan_of(balance(messages, table, State(), seed=1).deliveries)
    plain = table_of({"name": "r", "strategy": "pattern"})
    assert "Join" not in plan_of(balance(messages, plain, State(), seed=1).deliveries)
    counting = table_of({"name": "r", "balance": "round-robin"})
    plan = plan_of(balance(messages, counting, State(), seed=1).deliveries)
    assert plan.count("hashpartitioning") == 1
    assert "LocalTableScan" in plan


def test_what_has_a_problem_or_does_not_balance_keeps_its_destination_and_does_not_count(spark: SparkSession) -> None:
    """The numbers of the others go on as if it were not there; other columns pass through."""
    table = table_of({"name": "r", "balance": "round-robin"}, {"name": "p", "strategy": "pattern"})
    rows = [
        ("r", 0, None, None, b"0"),
        ("r", 1, "as it was", ("resolve", "x", "y"), b"1"),
        ("p", 2, "kept", None, b"2"),
        ("r", 3, "replaced", None, b"3"),
        (None, None, None, None, b"4"),
    ]
    problem = "problem struct<stage:string,code:string,reason:string>"
    schema = f"route string, position bigint, destination string, {problem}, body binary"
    outcome = balance(spark.createDataFrame(rows, schema), table, State(), seed=1)
    got = sorted((row.body, row.destination, row.problem) for row in outcome.deliveries.collect())
    assert got == [
        (b"0", "a", None),
        (b"1", "as it was", ("resolve", "x", "y")),
        (b"2", "kept", None),
        (b"3", "b", None),
        (b"4", None, None),
    ]
    assert outcome.deliveries.columns == ["route", "position", "destination", "problem", "body"]
    assert dict(outcome.state()) == {Key("balance", "r"): BalanceState(last="b", position=1)}


def test_a_key_is_hashed_as_python_hashes_it(spark: SparkSession) -> None:
    """Whatever the key: empty, not ASCII, or not even UTF-8."""
    table = table_of({"name": "s", "balance": "sticky", "key": "subject"})
    keys = ["", "ü", "customer-17", "x" * 1000, "\0", "🙂"]
    rows = [("s", "balanced", position, key, "s") for position, key in enumerate(keys)]
    outcome = balance(frame_of(spark, rows), table, State(), seed=1)
    assert sent_by(outcome)["s"] == [stick("abc", key) for key in keys]
    broken = simple(spark, 1, "s").withColumn("balance_key", sf.lit(b"\xff").cast("string"))
    assert sent_by(balance(broken, table, State(), seed=1))["s"][0] in tuple("abc")


def test_what_is_settled_is_in_flight_no_more(spark: SparkSession) -> None:
    """Between two batches; the next one goes to those that have finished."""
    table = table_of({"name": "r", "balance": "least-connections"}, {"name": "q", "balance": "round-robin"})
    state = balance(simple(spark, 7, "r", "q"), table, State(), seed=1).state()
    key = Key("balance", "r")
    assert state[key] == BalanceState(in_flight=(("a", 3), ("b", 2), ("c", 2)))
    done = settled(table, state, {("r", "b"): 2, ("r", "a"): 1, ("q", "a"): 1, ("gone", "a"): 1, ("r", "x"): 1})
    assert done[key] == BalanceState(in_flight=(("a", 2), ("c", 2)))
    assert done[Key("balance", "q")] == state[Key("balance", "q")]
    assert sent_by(balance(simple(spark, 3, "r"), table, done, seed=1)) == {"r": ["b", "b", "a"]}
    assert settled(table, done, {("r", "a"): 99})[key] == BalanceState(in_flight=(("c", 2),))


def test_a_batch_that_is_replayed_from_its_state_goes_the_same_way(spark: SparkSession) -> None:
    """However Spark has cut it into partitions this time."""
    written = [{"name": kind.value, "balance": kind.value} for kind in Kind if kind is not Kind.STICKY]
    table = table_of(*written)
    names = [route["name"] for route in written]
    state = balance(simple(spark, 5, *names), table, State(), seed=1).state()
    messages = simple(spark, 40, *names)
    first = balance(messages, table, state, seed=2)
    again = balance(messages.repartition(5).coalesce(3), table, state, seed=2)
    assert sent_by(first) == sent_by(again)
    assert taken(first.deliveries, table) == {name: 40 for name in names if name != "random"}


@pytest.mark.parametrize("missing", ["route", "position", "balance_key"])
def test_a_column_that_is_missing_is_named(spark: SparkSession, missing: str) -> None:
    """Before anything is computed."""
    table = table_of({"name": "s", "balance": "sticky", "key": "subject"})
    with pytest.raises(InputError, match=f"no column '{missing}'") as caught:
        balance(simple(spark, 1, "s").drop(missing), table, State(), seed=1)
    assert caught.value.code == "bad-usage"
