"""Messages become deliveries on Spark, and no message is lost on the way."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.broker.deliver import Received
from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.pipeline import Routed, route
from pointsman.table.routing_table import RoutingTable
from pointsman.testing import MemoryBroker

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"
TABLE = RoutingTable.parse(
    """
translations: [{name: old, from: "old.*", to: "orders.$1"}, {from: "long.*", to: "LONG.$1", dialect: amqp}]
access: {shop: {publish: ["*", "*.*"], deny: {publish: [orders.secret]}}}
routes:
  - {name: audit, pattern: orders.>, destinations: [archive, log]}
  - {name: exact, pattern: orders.new, strategy: direct, destinations: [desk]}
  - {name: high, pattern: orders.*, strategy: priority, priority: 2, when: metadata.size > 5, destinations: [fast]}
  - {name: low, pattern: orders.*, strategy: priority, priority: 1, destinations: [slow]}
  - {name: dear, pattern: orders.*, strategy: content, when: body.amount > 9, destinations: [manager]}
  - {name: eu, pattern: orders.*, conditions: {key: region, pattern: EU}, destinations: [europe]}
  - {name: turn, pattern: jobs.*, strategy: balanced, balance: round-robin, destinations: [one, two]}
  - {name: keyed, pattern: keys.*, strategy: balanced, balance: sticky, key: body.customer, destinations: [one, two]}
  - {name: ask, pattern: prices.ask, strategy: scatter-gather, gather: {timeout: 5s}, destinations: [one, two]}
""".replace("LONG", "x" * 249)
)
PLAIN = RoutingTable.parse("routes: [{name: all, pattern: '>', destinations: [d]}]")
MESSAGE = "id string, subject string, metadata map<string,string>, body string, principal string"


def sent(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
    """Messages in their order, in one partition."""
    return spark.createDataFrame(rows, schema).coalesce(1)


def deliveries(routed: Routed) -> list[tuple[str, str, str]]:
    """The id, the route and the destination of each delivery."""
    return sorted((row.id, row.route, row.destination) for row in routed.deliveries.collect())


def test_a_message_needs_nothing_but_a_subject(spark: SparkSession) -> None:
    """It gets an id, which is another one for each row and each batch, and the same when the batch is repeated."""
    messages = sent(spark, [("a",), ("a",), ("b.c",)], "subject string")
    first, again, other = (
        [row.delivery_id for row in route(messages, PLAIN, seed=seed).deliveries.collect()] for seed in (1, 1, 2)
    )
    assert first == again
    assert len({*first, *other}) == 6
    assert all(each.endswith("/all/d") for each in first)


def test_an_id_that_is_there_stays_and_one_that_is_null_or_empty_is_made(spark: SparkSession) -> None:
    """So that no two deliveries have one id."""
    messages = sent(spark, [("m1", "a"), (None, "a"), ("", "a"), ("", "a")], "ID string, subject string")
    rows = route(messages, PLAIN).deliveries
    assert "ID" in rows.columns
    found = [row.ID for row in rows.collect()]
    assert "m1" in found
    assert "" not in found
    assert len(set(found)) == 4


def test_every_other_column_passes_through_untouched(spark: SparkSession) -> None:
    """Whatever its type and name, those of columns that are used inside and of ours in another case included."""
    schema = (
        "Subject string, ID string, balance decimal(9,2), place binary, destinations array<double>, "
        "code map<string,int>, other struct<x:int>, `a.b` string, gathers boolean, dialect void, "
        "Place2 date, number timestamp, position string"
    )
    moment = datetime(2026, 1, 2, tzinfo=UTC).replace(tzinfo=None)
    values = (
        Decimal("1.20"),
        b"\x00\xff",
        [0.5, None],
        {"x": None},
        (7,),
        "y",
        True,
        None,
        moment.date(),
        moment,
        "top",
    )
    table = RoutingTable.parse("""
    routes:
      - {name: r, pattern: a, strategy: content, when: metadata.x IS NULL, destinations: [d]}
      - {name: s, pattern: a, strategy: content, group: g, when: body.x IS NULL, destinations: [d]}
    """)
    messages = sent(spark, [("a", "m", *values)], schema)
    found = route(messages, table).deliveries
    assert [(field.name, field.dataType) for field in found.schema.fields[:13]] == [
        (field.name, field.dataType) for field in messages.schema.fields
    ]
    rows = found.collect()
    assert [row.route for row in rows] == ["r", "s"]
    for row in rows:
        assert tuple(row)[:13] == ("a", "m", *values)


@pytest.mark.parametrize(
    "name", ["route", "Destination", "strategy", "routes", "original_subject", "outcome", "delivery_id", "problem"]
)
def test_a_column_that_would_be_overwritten_is_refused(spark: SparkSession, name: str) -> None:
    """With its name as the messages spell it."""
    messages = spark.createDataFrame([("a", 1)], f"subject string, {name} int")
    with pytest.raises(InputError, match=name) as caught:
        route(messages, PLAIN)
    assert caught.value.code == "bad-usage"


def test_every_strategy_has_the_outcome_that_it_has_in_the_table(spark: SparkSession) -> None:
    """One message for each of them, and what must come out by hand."""
    rows = [
        ("1", "orders.new", {"size": "9", "region": "EU"}, '{"amount": 10}', None),
        ("2", "orders.old", {"size": "1"}, '{"amount": 1}', None),
        ("3", "jobs.a", None, None, None),
        ("4", "jobs.b", None, None, None),
        ("5", "jobs.c", None, None, None),
        ("6", "prices.ask", None, None, None),
        ("7", "old.new", None, "no json", None),
        ("8", "keys.a", None, '{"customer": 7}', None),
    ]
    routed = route(sent(spark, rows, MESSAGE), TABLE)
    sticky = TABLE.decide(Message("keys.a", b'{"customer": 7}')).deliveries[0].destination
    everything = [("audit", "archive"), ("audit", "log")]
    expected = {
        "1": [*everything, ("dear", "manager"), ("eu", "europe"), ("exact", "desk"), ("high", "fast")],
        "2": [*everything, ("low", "slow")],
        "3": [("turn", "one")],
        "4": [("turn", "two")],
        "5": [("turn", "one")],
        "6": [("ask", "one"), ("ask", "two")],
        "7": [*everything, ("exact", "desk"), ("low", "slow")],
        "8": [("keyed", sticky)],
    }
    assert deliveries(routed) == [(id, *each) for id, pairs in expected.items() for each in pairs]


def test_what_is_wrong_with_a_message_is_told_with_its_stage_code_and_reason(spark: SparkSession) -> None:
    """In the quarantine; a message that no route takes is unrouted, and all of them add up."""
    rows = [
        ("1", "orders.secret", None, None, "shop"),
        ("2", "orders.new", None, None, "guest"),
        ("3", "orders..new", None, None, None),
        ("4", None, None, None, "shop"),
        ("5", "long.tail-of-it", None, None, "shop"),
        ("6", "keys.a", None, '{"customer": [1]}', None),
        ("7", "nobody.wants.it", None, None, None),
        ("8", "orders.new.more", None, None, None),
    ]
    broken = sent(spark, [("9",)], "id string").withColumn("subject", sf.lit(bytearray(b"orders.\xff")).cast("string"))
    messages = sent(spark, rows, MESSAGE).unionByName(broken, allowMissingColumns=True)
    routed = route(messages, TABLE)
    found = {row.id: (row.problem.stage, row.problem.code, row.route) for row in routed.quarantine.collect()}
    reasons = {row.id: row.problem.reason for row in routed.quarantine.collect()}
    assert found == {
        "1": ("authorize", "publish-refused", None),
        "2": ("authorize", "publish-refused", None),
        "3": ("resolve", "empty-token", None),
        "4": ("resolve", "not-text", None),
        "5": ("translate", "invalid-result", None),
        "6": ("select", "no-key", "keyed"),
        "9": ("resolve", "not-utf8", None),
    }
    assert reasons["2"] == "there is no principal 'guest'"
    assert reasons["3"] == TABLE.decide(Message("orders..new")).refused
    assert reasons["4"] == "the subject is missing"
    assert reasons["9"] == "the subject is not UTF-8"
    assert reasons["6"] == "nothing is chosen: there is no key to choose one of one, two by"
    assert [row.id for row in routed.unrouted.collect()] == ["7"]
    assert deliveries(routed) == [("8", "audit", "archive"), ("8", "audit", "log")]


def test_no_message_disappears(spark: SparkSession) -> None:
    """Each is delivered, quarantined or unrouted; what is unrouted is nothing else, and no delivery is there twice."""
    random = Random(6)
    tokens = ["orders", "jobs", "keys", "old", "new", "secret", "prices", "ask", "", "long"]
    rows = [
        (
            f"m{number}",
            random.choice([None, *([".".join(random.choices(tokens, k=random.randint(1, 3)))] * 20)]),
            {"size": str(random.randint(0, 9))},
            random.choice([None, '{"customer": 1, "amount": 10}', "no json"]),
            random.choice([None, "shop", "guest"]),
        )
        for number in range(400)
    ]
    routed = route(sent(spark, rows, MESSAGE).repartition(3), TABLE)
    kinds: dict[str, set[str]] = {"delivered": set(), "quarantined": set(), "unrouted": set()}
    every = routed.rows.select("id", "outcome", "delivery_id").collect()
    for row in every:
        kinds[row.outcome].add(row.id)
    assert kinds["delivered"] | kinds["quarantined"] | kinds["unrouted"] == {row[0] for row in rows}
    assert all(kinds.values())
    assert not kinds["unrouted"] & (kinds["delivered"] | kinds["quarantined"])
    counts = Counter(row.outcome for row in every)
    frames = {"delivered": routed.deliveries, "quarantined": routed.quarantine, "unrouted": routed.unrouted}
    assert {name: frame.count() for name, frame in frames.items()} == counts
    named = [row.delivery_id for row in every if row.delivery_id is not None]
    assert len(set(named)) == len(named) == counts["delivered"]
    assert counts["unrouted"] == len(kinds["unrouted"])


def test_deliveries_have_the_ids_that_the_broker_gives_them(spark: SparkSession) -> None:
    """So that a destination that got one from either knows it again."""
    table = RoutingTable.parse("""
    destinations: {d: {}, e: {}, é: {}}
    routes:
      - {name: r, pattern: a.*, destinations: [d, e]}
      - {name: s/t, pattern: a.>, strategy: balanced, balance: round-robin, destinations: [d, é]}
    """)
    seen: list[str] = []

    async def take(received: Received) -> None:
        seen.append(received.delivery_id)

    async def run() -> None:
        async with MemoryBroker(table) as broker:
            for name in table.destinations:
                broker.handler(name)(take)
            for number in range(3):
                await broker.publish(Message("a.b", id=f"m {number}"))
            await broker.settle()

    asyncio.run(run())
    messages = sent(spark, [(f"m {number}", "a.b") for number in range(3)], "id string, subject string")
    found = [row.delivery_id for row in route(messages, table).deliveries.collect()]
    assert sorted(found) == sorted(seen)
    assert len(found) == 9


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ("name: empty", {"quarantined": 1, "unrouted": 2}),
        ("routes: [{name: r, pattern: '>', enabled: false, destinations: [d]}]", {"quarantined": 1, "unrouted": 2}),
        ("routes: [{name: r, pattern: A.**, dialect: zato, destinations: [d]}]", {"delivered": 2, "unrouted": 1}),
    ],
)
def test_a_table_may_have_no_route_in_its_own_dialect(spark: SparkSession, text: str, outcomes: dict[str, int]) -> None:
    """What is a subject in one of the dialects used is no problem; everything else is."""
    messages = sent(spark, [("a.b",), ("b",), ("a..b",)], "subject string")
    rows = route(messages, RoutingTable.parse(text)).rows.collect()
    assert Counter(row.outcome for row in rows) == outcomes


def test_ten_thousand_routes_take_what_they_match(spark: SparkSession) -> None:
    """Of all strategies that choose between routes, with hundreds of predicates."""
    kinds: list[dict[str, Any]] = [
        {},
        {"strategy": "priority", "priority": 3},
        {"strategy": "content", "when": "metadata.n = 'N'"},
        {"strategy": "balanced", "balance": "sticky", "key": "metadata.n"},
    ]
    routes = [
        {"name": f"r{number}", "pattern": f"t{number // 4}.>", "destinations": ["d", "e"][: 1 + number % 2]}
        | {key: value.replace("N", str(number % 700)) if key == "when" else value for key, value in kind.items()}
        for number in range(10_000)
        for kind in [kinds[number % 4]]
    ]
    table = RoutingTable.from_plain({"routes": routes})
    rows = [(f"m{number}", f"t{number * 2}.x", {"n": str(number % 7)}) for number in range(300)]
    found = deliveries(route(sent(spark, rows, "id string, subject string, metadata map<string,string>"), table))
    wanted = [
        (id, each.route, each.destination)
        for id, subject, metadata in rows
        for each in table.decide(Message(subject, id=id, metadata=metadata)).deliveries
    ]
    assert found == sorted(wanted)
    assert {name for _, name, _ in found} >= {"r0", "r1", "r3"}


def test_a_stream_is_routed_as_it_comes(spark: SparkSession, tmp_path: Path) -> None:
    """Equal messages of two batches are two messages; what is wrong and what nobody wants stays in the stream."""
    source = tmp_path / "source"
    source.mkdir()
    for number in range(2):
        lines = [{"subject": "orders.new", "body": "{}"}, {"subject": "a..b"}, {"subject": "x"}]
        (source / f"{number}.json").write_text("\n".join(map(json.dumps, lines)))
    table = RoutingTable.parse("""
    destinations: {archive: {breaker: {}}, one: }
    routes:
      - {name: audit, pattern: orders.>, destinations: [archive]}
      - {name: any, pattern: orders.>, strategy: balanced, balance: random, destinations: [one]}
    """)
    messages = spark.readStream.schema("subject string, body string").option("maxFilesPerTrigger", 1).json(str(source))
    rows = route(messages, table).rows.select("delivery_id", "id", "outcome", "route", "destination")
    query = (
        rows.writeStream.format("memory")
        .queryName("routed")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.processAllAvailable()
    query.stop()
    found = spark.table("routed").collect()
    assert Counter((row.outcome, row.route, row.destination) for row in found) == {
        ("delivered", "audit", "archive"): 2,
        ("delivered", "any", "one"): 2,
        ("quarantined", None, None): 2,
        ("unrouted", None, None): 2,
    }
    assert len({row.delivery_id for row in found}) == 5
    assert len({row.id for row in found}) == 6


def test_a_stream_with_routes_that_count_is_refused_and_says_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    """Before it starts; their order needs a batch."""
    messages = spark.readStream.schema("subject string").json(str(tmp_path))
    with pytest.raises(InputError, match=r"'turn' counts its messages.*foreachBatch"):
        route(messages, TABLE)
