"""Deliveries to an HTTP endpoint: one request each, from the workers, as the embedded broker makes them.

``Idempotency-Key`` is the id of the delivery, the same in each attempt, in a batch that is repeated and in a replay, so
that the receiver can drop what comes twice. What became of each delivery is written down as soon as a task is done, and
everything after that goes by what was written: nothing is sent again because Spark computes something again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from pointsman.broker.destinations.http import HttpOptions
from pointsman.errors import MissingExtraError
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.delivering.http_sending import RESULT, sender
from pointsman.pipeline.delivering.place import REASON, Turn, file_name
from pointsman.table.model import Duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SendingOptions(HttpOptions):
    """The options of a destination of the type ``http`` in a pipeline: those of the broker, and when it gives up."""

    attempts: int = Field(3, ge=1, le=100, description="Requests that are made for a delivery at the most.")
    wait: Duration = Field(
        0.5, description="How long to wait after the first failure, at the most; twice that after each."
    )
    longest_wait: Duration = Field(
        10.0, description="What a wait never exceeds; an endpoint that asks for a longer one is not tried again."
    )
    failures: int = Field(
        5, ge=1, description="Deliveries in a row that fail before a task leaves the endpoint alone for its other rows."
    )


class Http:
    """An endpoint."""

    def __init__(self, options: SendingOptions, receipts: str) -> None:
        try:
            import httpx  # noqa: F401
        except ImportError:
            raise MissingExtraError("http", "httpx") from None
        self._options = options
        self._receipts = receipts

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Sends them, no more than ``concurrency`` at one time over all tasks; those that were not taken are told."""
        from pyspark.sql import functions as sf

        spark = rows.sparkSession
        tasks = max(1, min(self._options.concurrency, spark.sparkContext.defaultParallelism))
        told: dict[str, Any] = self._options.model_dump() | {"concurrency": self._options.concurrency // tasks}
        results = sendable(rows).coalesce(tasks).mapInArrow(sender(turn.name, told), RESULT)
        turned = "" if turn.replay is None else f"-replay-{turn.replay}"
        path = f"{self._receipts}/{file_name(turn.name)}/batch={turn.label}{turned}"
        results.write.mode("overwrite").parquet(path)
        receipts = spark.read.schema(RESULT).parquet(path)
        # One that is there twice, and of which one was taken, was delivered.
        last = receipts.groupBy("delivery_id").agg(
            sf.min(sf.struct(sf.isnotnull(REASON).alias("failed"), REASON)).alias("end")
        )
        failed = last.where("end.failed").select("delivery_id", sf.col("end.reason").alias(REASON))
        return None if failed.isEmpty() else failed


def sendable(rows: DataFrame) -> DataFrame:
    """What goes to the workers of a delivery, in the order that ``http_sending`` reads it; times in microseconds."""
    from pyspark.sql import functions as sf

    columns = MessageColumns(rows)
    texts = ("id", "subject", "content_type", "source", "correlation_id", "causation_id", "metadata", "body")
    return rows.select(
        rows["delivery_id"],
        rows["route"],
        *(getattr(columns, name).alias(name) for name in texts),
        sf.unix_micros(columns.time).alias("time"),
    )
