"""Stages on a stream that reads files and writes nowhere: messages a second, and what a batch takes."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.bench.pipeline_data import message_table
from pointsman.bench.pipeline_rows import StreamRow
from pointsman.bench.pipeline_stages import Stage
from pointsman.bench.subjects import Texts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WATCH = 0.2
"""Seconds between two looks at a stream."""


class Batches(NamedTuple):
    """So many batches of so many messages."""

    batch: int
    batches: int


def run_stream(spark: SparkSession, stage: Stage, folder: Path, subjects: Texts, size: Batches) -> StreamRow:
    """A stage on a stream; the files and the checkpoint are written to the folder, which must not exist."""
    source = folder / "source"
    source.mkdir(parents=True)
    for number in range(size.batches):
        write_batch(source, number, message_table(subjects.slice(number * size.batch, size.batch), number * size.batch))
    schema = spark.read.parquet(str(source)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    batches = watch(stage.make(stream), folder / "checkpoint")
    later = [seconds for seconds, _ in batches[1:]]
    messages = sum(rows for _, rows in batches[1:])
    return StreamRow(
        stage.name, stage.subscriptions or 0, size.batch, len(batches), messages / sum(later), median(later), max(later)
    )


def write_batch(source: Path, number: int, table: Any) -> None:
    """A file that will be the batch of this number."""
    import pyarrow.parquet as pq

    file = source / f"{number:04}.parquet"
    pq.write_table(table, file)
    os.utime(file, (number, number))


def watch(made: DataFrame, checkpoint: Path, tell: Callable[[], object] = lambda: None) -> list[tuple[float, int]]:
    """The seconds and messages of each batch of a stream that runs until everything is read.

    ``tell`` is called soon after each. Raises what the query failed with.
    """
    # Streams with timers would go on for ever otherwise.
    made.sparkSession.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    writer = made.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.start()
    found: list[tuple[float, int]] = []
    ended: bool | None = False
    try:
        while not ended:
            ended = query.awaitTermination(WATCH)  # type: ignore[arg-type]  # a float will do
            progress = [each for each in query.recentProgress if each["numInputRows"]]
            for each in islice(progress, len(found), None):
                found.append((each["durationMs"]["triggerExecution"] / 1000, each["numInputRows"]))
                tell()
    finally:
        query.stop()
        made.sparkSession.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
    return found
