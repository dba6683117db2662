"""The hour of the shop on Spark: the stages without memory come to the same as the plain run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pointsman.pipeline.demo.counting import count_rows, with_family
from pointsman.pipeline.demo.events import SCHEMA
from pointsman.pipeline.route import route
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
    query.awaitTermination(120)
    assert query.exception() is None
    assert [number for number, _, _ in seen] == [0, 1, 2, 3]
    assert [first for _, first, _ in seen] == [1, *(last + 1 for _, _, last in seen[:-1])]
    assert seen[-1][2] == hour.summary.messages
