"""The stages on Spark: one crossing for all of them, and each of them alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.pipeline import authorize, resolve, route, select, translate
from pointsman.pipeline.crossing import part_of
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key
from tests.pipeline.agreement import frame_of
from tests.pipeline.tables import NOW, case_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

KEYS = ("source", "metadata.k", "body.customer.id", "time", "subject")
BALANCED = """
routes:
  - {name: turn, pattern: a, strategy: balanced, balance: round-robin, destinations: [d, e, f]}
  - name: share
    pattern: a
    strategy: balanced
    balance: weighted
    destinations: [{name: d, weight: 5}, {name: e, weight: 3}, {name: f, weight: 2}]
  - {name: least, pattern: a, strategy: balanced, balance: least-connections, destinations: [d, e, f]}
  - {name: any, pattern: a, strategy: balanced, balance: random, destinations: [d, e, f]}
"""


@pytest.fixture
def far_east(spark: SparkSession) -> Iterator[SparkSession]:
    """The session in another time zone."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(before))


def subjects(spark: SparkSession, count: int, partitions: int, subject: str = "a") -> DataFrame:
    """Messages of one subject."""
    rows = spark.range(count).selectExpr(f"'{subject}' AS subject", "cast(id AS string) AS id")
    return rows.repartition(partitions)


def plan_of(frame: DataFrame) -> str:
    """The plan that Spark runs."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.mark.classic
def test_a_batch_crosses_to_python_once_and_is_neither_joined_nor_shuffled(spark: SparkSession) -> None:
    """With translations, access, predicates, sticky keys, counting balances and breakers in the table."""
    table = RoutingTable.parse(
        BALANCED
        + """
  - {name: keyed, pattern: b, strategy: balanced, balance: sticky, key: body.x, destinations: [d, e]}
  - {name: large, pattern: b, strategy: content, when: body.amount > 5, destinations: [d]}
destinations: {d: {breaker: {failures: 2, reset: 10s}}, e: , f: }
translations: [{from: "old.*", to: "$1"}]
access: {shop: {publish: [">"]}}
"""
    )
    messages = spark.createDataFrame([("a", b"", "shop")], "subject string, body binary, principal string")
    plan = plan_of(route(messages, table).rows)
    assert plan.count("ArrowEvalPython") == 1
    assert not any(word in plan for word in ("Join", "Exchange", "Window"))


@pytest.mark.classic
def test_a_body_crosses_only_with_a_subject_that_a_route_may_ask_it_for(spark: SparkSession) -> None:
    """And no column crosses that the table does not read."""
    table = RoutingTable.parse("""
    routes:
      - {name: large, pattern: orders.>, strategy: content, when: body.amount > 5, destinations: [d]}
      - {name: all, pattern: ">", destinations: [d]}
    """)
    schema = "subject string, body binary, source string, metadata map<string,string>, time timestamp"
    messages = spark.createDataFrame([("orders.a", bytearray(b'{"amount": 9}'), "s", {}, None)], schema)
    rows = route(messages, table).rows
    crossed = next(line for line in plan_of(rows).splitlines() if "ArrowEvalPython" in line)
    assert "StartsWith(subject" in crossed
    assert not any(name in crossed for name in ("source#", "metadata#", "time#"))
    assert {row.route for row in rows.collect()} == {"large", "all"}


@pytest.mark.parametrize(
    ("pattern", "dialect", "subject"),
    [
        ("orders.#", "amqp", "orders"),
        ("orders.>", "nats", "orders.a"),
        ("#.x", "amqp", "x"),
        ("ORDERS.*", "zato", "orders.A"),
        ("ord*.x", "zato", "orders.x"),
        ("plant/+", "mqtt", "plant/1"),
        ("plant/#", "mqtt", "plant"),
        ("a*", "nats", "a*"),
    ],
)
def test_a_predicate_sees_the_body_of_every_message_that_its_pattern_matches(
    spark: SparkSession, pattern: str, dialect: str, subject: str
) -> None:
    """However the subject begins; also one that only a translation leads to."""
    plain = {
        "dialect": dialect,
        "translations": [{"from": "old", "to": subject, "dialect": "nats"}] if dialect != "mqtt" else [],
        "routes": [{"name": "r", "pattern": pattern, "when": "body.x = 1", "destinations": ["d"]}],
    }
    rows = [(subject, bytearray(b'{"x": 1}')), ("old", bytearray(b'{"x": 1}'))]
    found = route(spark.createDataFrame(rows, "subject string, body binary"), RoutingTable.from_plain(plain))
    assert found.deliveries.count() == (1 if dialect == "mqtt" else 2)


def test_the_stages_one_after_the_other_come_to_what_route_comes_to(spark: SparkSession) -> None:
    """On generated tables; each stage finds its own problems and leaves those before it alone."""
    for number in range(12):
        case = case_of(Random(f"stages {number}"))
        messages = frame_of(spark, case.sent)
        alone = translate(authorize(messages, case.table), case.table)
        some = select(resolve(alone, case.table), case.table, state=case.state, now=NOW, seed=3).rows
        whole = route(messages, case.table, state=case.state, now=NOW, seed=3).rows
        columns = sorted(set(whole.columns) - {"metadata"})
        assert sorted(some.columns) == sorted(whole.columns)
        found, wanted = (Counter(map(repr, each.select(*columns).collect())) for each in (some, whole))
        assert found == wanted, f"case {number}"


def test_balances_that_count_give_each_destination_its_share(spark: SparkSession) -> None:
    """To within one for each partition, two by weights; and the state moves on by all of them."""
    table = RoutingTable.parse(BALANCED)
    routed = route(subjects(spark, 1000, 4), table, seed=5)
    counts = Counter((row.route, row.destination) for row in routed.deliveries.collect())
    assert all(abs(counts[name, each] - 1000 / 3) <= 4 for name in ("turn", "least") for each in "def")
    assert all(
        abs(counts["share", each] - 1000 * share) <= 8 for each, share in zip("def", (0.5, 0.3, 0.2), strict=True)
    )
    assert all(counts["any", each] > 250 for each in "def")
    after = table.decide(Message("a"), routed.state()).deliveries
    assert {each.route: each.destination for each in after}["turn"] == "e"


def test_small_partitions_do_not_all_begin_with_the_first_destination(spark: SparkSession) -> None:
    """Or a stream of small batches would send it everything."""
    table = RoutingTable.parse(
        "routes: [{name: t, pattern: a, strategy: balanced, balance: round-robin, destinations: [d, e]}]"
    )
    messages = spark.range(8, numPartitions=8).selectExpr("'a' AS subject", "cast(id AS string) AS id")
    counts = Counter(row.destination for row in route(messages, table).deliveries.collect())
    assert counts == {"d": 4, "e": 4}


def test_a_batch_that_is_repeated_with_its_seed_is_decided_the_same(spark: SparkSession) -> None:
    """Balances of the kind random, and templates that ask for chance; another seed gives another choice."""
    table = RoutingTable.parse("""
    translations: [{from: x, to: "a.{{random(10)}}"}]
    routes: [{name: any, pattern: "a.*", strategy: balanced, balance: random, destinations: [d, e, f]}]
    """)
    messages = subjects(spark, 300, 2, "x").coalesce(1).cache()
    first, again, other = (
        {(row.id, row.subject, row.destination) for row in route(messages, table, seed=seed).deliveries.collect()}
        for seed in (1, 1, 2)
    )
    messages.unpersist()
    assert first == again
    assert first != other
    assert len({subject for _, subject, _ in first}) == 10


def test_a_sticky_route_finds_its_key_where_the_table_finds_it(far_east: SparkSession) -> None:
    """In any field, whatever the time zone of the session; without a key nothing is chosen."""
    routes: list[dict[str, Any]] = [
        {"name": key, "pattern": "a", "strategy": "balanced", "balance": "sticky", "key": key}
        | {"destinations": ["d", "e", "f", "g"]}
        for key in KEYS
    ]
    table = RoutingTable.from_plain({"routes": routes})
    bodies = [b'{"customer": {"id": 7}}', b'{"customer": "x"}', b'{"customer": {"id": true}}', b"no json", b""]
    messages = [
        Message(
            "a",
            bodies[number % 5],
            id=f"m{number}",
            source=f"s{number % 4}",
            metadata={"k": f"é{number % 3}"} if number % 2 else {},
            time=None if number % 7 == 0 else datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number),
        )
        for number in range(30)
    ]
    rows = [(each.id, each.subject, each.body, each.source, dict(each.metadata), each.time) for each in messages]
    schema = "id string, subject string, body binary, source string, metadata map<string,string>, time timestamp"
    routed = route(far_east.createDataFrame(rows, schema), table).rows.collect()
    found = sorted((row.id, row.route, row.destination) for row in routed if row.outcome == "delivered")
    wanted = [
        (message.id, each.route, each.destination) for message in messages for each in table.decide(message).deliveries
    ]
    assert found == sorted(wanted)
    assert {name for _, name, _ in found} == set(KEYS)
    assert {row.problem.code for row in routed if row.outcome == "quarantined"} == {"no-key"}


def test_options_of_destinations_do_not_travel_to_the_workers() -> None:
    """They may hold what only the driver is to know."""
    table = RoutingTable.parse("""
    destinations:
      d: {type: http, options: {url: "https://user:hidden@example.org/"}, breaker: {failures: 1, reset: 1s}}
    routes: [{name: r, pattern: a, destinations: [d]}]
    """)
    text = json.dumps(part_of(table).plain)
    assert "hidden" not in text
    assert "failures" in text


def test_a_stage_that_needs_another_before_it_says_so(spark: SparkSession) -> None:
    """As do those that a stream cannot have as a whole."""
    table = RoutingTable.parse(BALANCED)
    with pytest.raises(InputError, match="the stage resolve adds"):
        select(subjects(spark, 1, 1), table)
    stream = spark.readStream.format("rate").load().selectExpr("'a' AS subject")
    with pytest.raises(InputError, match="'turn' counts its messages"):
        route(stream, table)
    assert Key("balance", "turn") in route(subjects(spark, 3, 1), table).state()
