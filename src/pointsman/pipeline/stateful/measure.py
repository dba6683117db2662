"""How many correlation ids a second sagas are moved for, in a stream from files to nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pointsman.pipeline.stateful.follow import BUCKETS
from pointsman.pipeline.stateful.saga import follow_sagas
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = folder / "source"
    source.mkdir(parents=True)
    half = keys // 2
    for batch in range(batches):
        # Every batch begins the sagas that the next one ends.
        rows = [_event(SUBJECTS[0], number) for number in range((batch + 1) * half, (batch + 2) * half)]
        if batch:
            rows += [_event(SUBJECTS[1], number) for number in range(batch * half, (batch + 1) * half)]
        file = source / f"{batch:04}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), file)
        os.utime(file, (batch, batch))
    columns = "id string, subject string, correlation_id string, body string"
    stream = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(source))
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


def _event(subject: str, number: int) -> dict[str, str]:
    return {
        "id": f"{subject}-{number}",
        "subject": subject,
        "correlation_id": f"order-{number}",
        "body": f'{{"amount": {number}}}',
    }
