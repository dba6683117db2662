"""The stage ``deliver``, alone: every kind of destination, and those that fail."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pointsman import Message
from pointsman.destinations import Delivered, DeliveryFailed, SubjectOptions
from pointsman.destinations import republished as published_again
from pointsman.errors import InputError
from pointsman.pipeline import deliver, route
from pointsman.pipeline.destinations.kafka import records
from pointsman.pipeline.destinations.queue import republished
from pointsman.store.queue import Queue
from pointsman.table.routing_table import RoutingTable
from tests.pipeline import outputs
from tests.pipeline.running.endpoint import endpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

TABLE = """
destinations:
  desk:
  blocked:
  audit: {type: folder, options: {path: audit}}
  archive: {type: queue, options: {path: archive.db, routing_key: "archive.{subject}"}}
  hook: {type: http, options: {url: "URL", concurrency: 3}}
  again: {type: subject, options: {subject: "late.{subject}"}}
  rows:
routes:
  - {name: all, pattern: ">", destinations: [desk, blocked, audit, archive, hook, again, rows]}
"""
MESSAGES = "id string, subject string, body binary, metadata map<string,string>, correlation_id string, extra int"
HOPS = {"pointsman-hops": "16"}


def messages(spark: SparkSession) -> DataFrame:
    """Ten messages; the last has metadata that no queue takes, the one before it went round too often."""
    rows: list[tuple[Any, ...]] = [
        (f"m{n}", f"orders.n{n}", f"body {n}".encode(), {"n": str(n)}, None, n) for n in range(8)
    ]
    rows.append(("m8", "orders.n8", b"round", HOPS, "c", 8))
    rows.append(("m9", "orders.n9", b"nothing", {"n": None}, "c", 9))
    return spark.createDataFrame(rows, MESSAGES).coalesce(1)


def test_each_delivery_goes_to_the_place_of_its_destination_and_what_fails_concerns_nobody_else(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All kinds in one batch, twice; each has everything once, and the failures come back as a column."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wall").write_text("where a folder should be")
    spark.sql(f"CREATE DATABASE delivered LOCATION '{tmp_path}/catalog'")

    def half(key: str, count: int) -> int:
        if key.startswith("m1/") and count == 1:
            time.sleep(1.5)
        return 400 if key[1] in "02468" else 200

    with endpoint(half) as hook:
        table = RoutingTable.parse(TABLE.replace("URL", hook.url))
        sinks = {
            "blocked": {"path": "wall/below"},
            "rows": {"format": "table", "path": "delivered.rows"},
            "audit": {"format": "parquet", "path": "audit"},
            "hook": {"format": "http", "options": {"timeout": 1.0, "wait": 0.01, "attempts": 5}},
        }
        deliveries = route(messages(spark), table).deliveries.persist()
        for _ in range(2):
            told = deliver(deliveries, table, "out", sinks=sinks, queue="source.db")
        failed = {(row.destination, row.id): row.failure for row in told.collect()}
        deliveries.unpersist()
    assert len(failed) == 70
    assert failed["rows", "m0"] is None
    why = {
        name: {key for (each, key), reason in failed.items() if each == name and reason} for name in table.destinations
    }
    everything = {f"m{n}" for n in range(10)}
    assert why == {
        "desk": set(),
        "blocked": everything,
        "audit": set(),
        "archive": {"m9"},
        "hook": {f"m{n}" for n in (0, 2, 4, 6, 8)},
        "again": {"m8", "m9"},
        "rows": set(),
    }
    assert failed["hook", "m2"] == "the answer is 400"
    assert "metadata['n'] is NoneType" in failed["archive", "m9"]
    assert "in a circle" in failed["again", "m8"]

    files = outputs.files(tmp_path / "out", "deliveries", destination="desk", ending=".json")
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == sorted(everything)
    assert {file.parent.name for file in files} == {"destination=desk"}
    assert sorted(row.extra for row in spark.table("delivered.rows").collect()) == list(range(10))
    assert spark.read.parquet(str(tmp_path / "audit")).count() == 10
    with Queue(tmp_path / "archive.db") as queue:
        put = {message.id: message.routing_key for message in queue.messages()}
    assert put == {f"m{n}/all/archive": f"archive.orders.n{n}" for n in range(9)}
    with Queue(tmp_path / "source.db") as queue:
        assert sorted(message.routing_key for message in queue.messages()) == [f"late.orders.n{n}" for n in range(8)]
    assert hook.most_at_once <= 3
    assert hook.came["m1/all/hook"] >= 3
    assert hook.bodies["m1/all/hook"] == b"body 1"
    assert hook.headers["m1/all/hook"]["ce-subject"] == "orders.n1"
    assert hook.headers["m1/all/hook"]["pointsman-route"] == "all"
    dead = spark.read.parquet(str(tmp_path / "out/dead/hook")).orderBy("id").collect()
    assert [(row.id, row.extra, row.dead.reason, row.dead.attempts) for row in dead] == [
        (f"m{n}", n, "the answer is 400", 1) for n in (0, 2, 4, 6, 8)
    ]
    spark.sql("DROP DATABASE delivered CASCADE")


def test_a_batch_that_is_repeated_and_succeeds_leaves_no_dead_letters(tmp_path: Path, spark: SparkSession) -> None:
    """Those of the first attempt are removed; those of other batches stay."""
    table = RoutingTable.parse("routes: [{name: all, pattern: '>', destinations: [audit]}]")
    deliveries = route(messages(spark).limit(2), table).deliveries
    wall = tmp_path / "wall"
    wall.write_text("where a folder should be")
    sinks = {"audit": {"path": str(wall)}}
    for batch in (0, 1):
        deliver(deliveries, table, tmp_path / "out", sinks=sinks, batch=batch)
    wall.unlink()
    assert deliver(deliveries, table, tmp_path / "out", sinks=sinks, batch=1).where("failure IS NOT NULL").isEmpty()
    assert [path.name for path in (tmp_path / "out/dead/audit").iterdir()] == ["batch=0"]


@pytest.mark.parametrize(
    ("destination", "sink", "problem"),
    [
        ("{type: carrier-pigeon}", None, "there is no type 'carrier-pigeon'"),
        ("{type: http, options: {urls: x}}", None, "has no option 'urls'"),
        ("{type: http, options: {url: 'http://h/'}}", {"format": "http", "options": {"attempts": 0}}, "'attempts'"),
        ("{type: subject, options: {subject: x}}", None, "come from no queue"),
        ("{}", {"format": "http"}, "'url' is missing"),
        ("{}", {"format": "table"}, "needs a 'path'"),
        ("{}", {"format": "kafka", "path": "x"}, "has no 'path'"),
    ],
)
def test_a_destination_that_cannot_be_delivered_to_is_refused_before_anything_is_delivered(
    tmp_path: Path, spark: SparkSession, destination: str, sink: dict[str, Any] | None, problem: str
) -> None:
    """Whatever is unknown is an error, and never a file in some folder."""
    table = RoutingTable.parse(
        f"destinations: {{there: {destination}, desk: }}\n"
        "routes: [{name: all, pattern: '>', destinations: [there, desk]}]"
    )
    rows = spark.range(1).selectExpr(
        "'a' AS subject", "'1' AS id", "'all' AS route", "'desk' AS destination", "'1' AS delivery_id"
    )
    with pytest.raises(InputError, match=problem) as caught:
        deliver(rows, table, tmp_path / "out", sinks={} if sink is None else {"there": sink})
    assert caught.value.code == "bad-destination"
    assert not (tmp_path / "out").exists()


def test_what_is_published_again_is_what_the_broker_publishes(spark: SparkSession) -> None:
    """For counts of hops of any form, and with and without a correlation id."""
    hops = [None, "0", "7", "15", "x", "-1", "1234567890", "٣"]
    rows = []
    for number, count in enumerate(hops):
        metadata = {"a": "b"} | ({} if count is None else {"pointsman-hops": count})
        rows.append((f"m{number}", f"orders.n{number}", b"body", metadata, "c" if number % 2 else None, number))
    frame = spark.createDataFrame(rows, MESSAGES).selectExpr("*", "concat(id, '/x') AS delivery_id")
    made = {row.id: row for row in republished(frame, "late.{subject}.{subject}").collect()}
    for id, subject, body, metadata, correlation, _ in rows:
        message = Message(subject, body, id=id, metadata=metadata, correlation_id=correlation)
        again = published_again(
            Delivered(f"{id}/x", "r", "d", message), SubjectOptions(subject="late.{subject}.{subject}")
        )
        row = made[again.id]
        assert (row.subject, row.metadata, row.correlation_id, row.causation_id, bytes(row.body)) == (
            again.subject,
            dict(again.metadata),
            again.correlation_id,
            again.causation_id,
            again.body,
        )
    with pytest.raises(DeliveryFailed):
        published_again(Delivered("d", "r", "d", Message("a", metadata=HOPS)), SubjectOptions(subject="b"))


def test_kafka_gets_a_key_a_value_and_a_topic_for_each_row(spark: SparkSession) -> None:
    """The columns that Spark's own sink for Kafka takes; there is no Kafka here to write to."""
    table = RoutingTable.parse("routes: [{name: all, pattern: '>', destinations: [stream]}]")
    deliveries = route(messages(spark).where("extra in (1, 8)"), table).deliveries
    made = records(deliveries, "shop.{subject}")
    assert [(field.name, field.dataType.simpleString()) for field in made.schema] == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    found = {row.topic: row for row in made.collect()}
    assert (bytes(found["shop.orders.n1"].key), bytes(found["shop.orders.n1"].value)) == (b"m1", b"body 1")
    assert bytes(found["shop.orders.n8"].key) == b"c"
    headers = {header.key: bytes(header.value) for header in found["shop.orders.n1"].headers}
    assert headers["idempotency-key"] == b"m1/all/stream"
    assert {row.topic for row in records(deliveries).collect()} == {"orders.n1", "orders.n8"}
