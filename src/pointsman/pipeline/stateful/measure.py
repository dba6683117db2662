"""How many correlation ids a second sagas are moved for, in a stream from files to nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pointsman.pipeline.stateful.follow import BUCKETS
from pointsman.pipeline.stateful.saga import follow_sagas
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = RoutingTable.from_plain(
    {
        "sagas": {
            "order": {
                "starts": [{"on": "orders.created", "to": "paying", "send": ["payments.reserve"]}],
                "states": {
                    "paying": {
                        "edges": [{"on": "payments.reserved", "to": "paid", "undo": ["payments.release"]}],
                        "timeout": {"after": 3600, "to": "paid"},
                    },
                    "paid": {"final": True},
                },
            }
        }
    }
)
SUBJECTS = ("orders.created", "payments.reserved")


class Speed(NamedTuple):
    """What was measured."""

    keys: int
    """Correlation ids in each batch."""
    seconds: tuple[float, ...]
    """What each batch took; the first has Spark and Python warm up."""

    @property
    def keys_per_second(self) -> float:
        """Of the quickest batch."""
        return self.keys / min(self.seconds[1:])


def keys_per_second(
    spark: SparkSession, folder: Path, keys: int = 50_000, batches: int = 4, buckets: int = BUCKETS
) -> Speed:
    """Moves so many sagas in each of so many batches, at least two: half of them begin, half of them end.

    Writes the events and the checkpoint into the folder, which must be empty, and leaves them there.
    """
    source = folder / "source"
    for batch in range(batches):
        # Every batch begins the sagas that the next one ends.
        half = keys // 2
        events = _events(spark, (batch + 1) * half, SUBJECTS[0], half)
        if batch:
            events = events.unionAll(_events(spark, batch * half, SUBJECTS[1], half))
        events.coalesce(1).write.mode("append").parquet(str(source))
    stream = spark.readStream.schema(events.schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = follow_sagas(stream, TABLE, buckets=buckets).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    try:
        seconds: list[float] = []
        while len(seconds) < batches and query.awaitTermination(1) is not True:
            seconds = [
                progress["durationMs"]["triggerExecution"] / 1000
                for progress in map(json.loads, (each.json for each in query.recentProgress))
                if progress["numInputRows"]
            ]
    finally:
        query.stop()
    return Speed(keys, tuple(seconds))


def _events(spark: SparkSession, first: int, subject: str, count: int) -> DataFrame:
    from pyspark.sql import functions as sf

    numbers = spark.range(first, first + count)
    return numbers.select(
        sf.concat(sf.lit(subject), sf.lit("-"), "id").alias("id"),
        sf.lit(subject).alias("subject"),
        sf.concat(sf.lit("order-"), "id").alias("correlation_id"),
        sf.format_string('{"amount": %d}', "id").alias("body"),
    )
