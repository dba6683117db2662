"""Balanced routes and breakers within select: their order, and the keys of sticky ones."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.pipeline import resolve, route, select
from pointsman.table.routing_table import RoutingTable

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TURN = RoutingTable.parse(
    "routes: [{name: turn, pattern: a, strategy: balanced, balance: round-robin, destinations: [d, e, f]}]"
)
GUARDED = RoutingTable.parse("{destinations: {d: {breaker: {}}}, routes: [{name: r, pattern: a, destinations: [d]}]}")
KEYS = ("time", "body.customer.id", "body.customer", "metadata['k']", "source", "id")


@pytest.fixture
def far_east(spark: SparkSession) -> Iterator[SparkSession]:
    """The session in another time zone."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", str(before))


@pytest.mark.parametrize("table", [TURN, GUARDED])
def test_what_goes_by_the_order_of_messages_needs_one(spark: SparkSession, table: RoutingTable) -> None:
    """A position that is no number is none."""
    nowhere = resolve(spark.createDataFrame([("a",)], "subject string"), table)
    with pytest.raises(InputError, match="no column 'position'"):
        select(nowhere, table)
    with pytest.raises(InputError, match="'Position' of messages is string, not bigint"):
        select(nowhere.withColumn("Position", sf.lit("top")), table)


def test_messages_take_turns_by_their_position(spark: SparkSession) -> None:
    """Not by the order of the rows, and however the column is spelled."""
    places = [5, 1, 4, 2, 3, 0]
    rows = [(f"m{place}", "a", place) for place in places]
    messages = spark.createDataFrame(rows, "id string, subject string, POSITION int").repartition(3)
    found = {row.POSITION: row.destination for row in route(messages, TURN).deliveries.collect()}
    assert [found[place] for place in range(6)] == ["d", "e", "f", "d", "e", "f"]


def test_without_positions_they_take_turns_by_the_order_of_the_rows(spark: SparkSession) -> None:
    """And the messages that the route does not take do not count."""
    rows = [(f"m{number}", "b" if number == 2 else "a") for number in range(5)]
    routed = route(spark.createDataFrame(rows, "id string, subject string").coalesce(1), TURN)
    found = {row.id: row.destination for row in routed.deliveries.collect()}
    assert found == {"m0": "d", "m1": "e", "m3": "f", "m4": "d"}


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
