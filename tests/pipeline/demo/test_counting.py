"""The hour of the shop on Spark comes to the same as the plain run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.pipeline.authorize import authorize
from pointsman.pipeline.demo import ENVIRONMENT, TABLE
from pointsman.pipeline.demo.counting import count_rows, with_family
from pointsman.pipeline.demo.counting_followed import with_followed
from pointsman.pipeline.demo.events import SCHEMA, make_events
from pointsman.pipeline.demo.expected import decide_all
from pointsman.pipeline.demo.reading import read_file
from pointsman.pipeline.route import route
from pointsman.pipeline.stateful.follow import follow
from pointsman.pipeline.translate import translate
from pointsman.table.routing_table import RoutingTable
from tests.pipeline.demo.conftest import Hour

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

FOLLOWED = ("tales", "sagas", "saga_states", "commands", "unmoved", "gatherings", "dropped", "fallbacks", "failed")
"""What is not counted by rows."""


def test_spark_makes_of_the_hour_what_the_plain_run_makes(spark: SparkSession, hour: Hour) -> None:
    """All files as one batch: the same deliveries by route and destination, the same refusals for the same reasons."""
    messages = with_family(spark.read.schema(SCHEMA).json(str(hour.folder)))
    counts = count_rows(route(messages, hour.table).rows)
    assert hour.counts.differences(counts, without=FOLLOWED) == []
    assert counts.deliveries.total() > counts.routed


def test_sagas_and_gatherings_on_spark_come_to_the_same(spark: SparkSession, tmp_path: Path) -> None:
    """By the time of the events, half an hour in a batch, with the timeouts that fall due at the very end."""
    table = RoutingTable.load(TABLE, ENVIRONMENT)
    summary = make_events(tmp_path / "events", orders=40)
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 31).json(str(tmp_path / "events"))
    allowed = translate(authorize(stream.withWatermark("time", "0 seconds"), table), table)
    followed = follow(allowed, table, buckets=2, time_mode="eventTime")
    writer = followed.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "followed"))
    assert query.awaitTermination(300)
    rows = [row.asDict() for row in spark.read.parquet(str(tmp_path / "followed")).drop("body").collect()]
    received = [each.message for file in summary.files for each in read_file(file)]
    subjects = {message.id: message.subject for message in received if message is not None}
    expected = decide_all(tmp_path / "events", table)
    found = with_followed(expected, rows, subjects)
    assert expected.differences(found) == []
    for mine, its in zip(expected.tales, found.tales, strict=True):
        assert mine.correlation_id == its.correlation_id
        assert [step._replace(compensations=()) for step in mine.steps] == list(its.steps)


def test_a_stream_of_files_takes_the_minutes_in_their_order(spark: SparkSession, hour: Hour) -> None:
    """No message comes in a batch after one that is later than it."""
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 20).json(str(hour.folder))
    seen: list[tuple[int, int, int]] = []
    query = (
        stream.writeStream.foreachBatch(
            lambda batch, number: seen.extend(
                (number, *row) for row in batch.selectExpr("min(position)", "max(position)").collect()
            )
        )
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(300)
    assert [number for number, _, _ in seen] == [0, 1, 2, 3]
    assert [first for _, first, _ in seen] == [1, *(last + 1 for _, _, last in seen[:-1])]
    assert seen[-1][2] == hour.summary.messages
