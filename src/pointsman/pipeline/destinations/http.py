"""Deliveries to an HTTP endpoint: one request each, from the workers, as the embedded broker makes them.

``Idempotency-Key`` is the id of the delivery, the same in each attempt, in a batch that is repeated and in a replay, so
that the receiver can drop what comes twice. What became of each delivery is written down as soon as a task is done, and
everything after that goes by what was written: nothing is sent again because Spark computes something again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from pointsman.destinations.base import Delivered, DeliveryFailed, Sink
from pointsman.destinations.http import HttpOptions, HttpSink
from pointsman.errors import MessageError, MissingExtraError
from pointsman.pipeline.columns import MessageColumns, message_of
from pointsman.pipeline.destinations.place import REASON, Turn, file_name
from pointsman.pipeline.spark.kind import task_count
from pointsman.table.loading.schema import Duration

if TYPE_CHECKING:
    import pyarrow as pa
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
        tasks = max(1, min(self._options.concurrency, task_count(spark)))
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
    """What workers need of a delivery; times are in microseconds."""
    from pyspark.sql import functions as sf

    columns = MessageColumns(rows)
    texts = ("id", "subject", "content_type", "source", "correlation_id", "causation_id", "metadata", "body")
    return rows.select(
        rows["delivery_id"],
        rows["route"],
        *(getattr(columns, name).alias(name) for name in texts),
        sf.unix_micros(columns.time).alias("time"),
    )


RESULT = "delivery_id string, reason string, attempts int"
"""What became of a delivery; the reason is NULL if it was made."""
AT_ONCE = 256
"""Deliveries that are read into memory at one time."""
Batches = Iterator["pa.RecordBatch"]


class Result(NamedTuple):
    """What became of a delivery."""

    delivery_id: str
    reason: str | None
    attempts: int


def sender(name: str, options: dict[str, Any]) -> Callable[[Batches], Batches]:
    """The function that sends the rows of a task and gives what became of each, for ``mapInArrow``."""

    def send(batches: Batches) -> Batches:
        import pyarrow as pa

        read = SendingOptions.model_validate(options)
        sending = Sending(name, read, HttpSink(name, read))
        schema = pa.schema([("delivery_id", pa.string()), ("reason", pa.string()), ("attempts", pa.int32())])
        with asyncio.Runner() as runner:
            runner.run(sending.sink.open())
            try:
                for batch in batches:
                    for start in range(0, batch.num_rows, AT_ONCE):
                        results = runner.run(sending.send_all(batch.slice(start, AT_ONCE).to_pylist()))
                        yield pa.RecordBatch.from_pylist([each._asdict() for each in results], schema)
            finally:
                runner.run(sending.sink.close())

    return send


class Sending:
    """The deliveries of one task; belongs to one event loop.

    After ``failures`` deliveries in a row that another attempt might have mended, the rest is not attempted.
    """

    def __init__(
        self,
        name: str,
        options: SendingOptions,
        sink: Sink,
        random: Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.sink = sink
        self._name = name
        self._options = options
        self._slots = asyncio.Semaphore(options.concurrency)
        self._random = Random() if random is None else random  # noqa: S311, it spreads requests and guards nothing
        self._sleep = sleep
        self._in_a_row = 0
        self._last = ""

    async def send_all(self, rows: list[dict[str, Any]]) -> list[Result]:
        """Sends them, as many at one time as may be."""
        return list(await asyncio.gather(*map(self._send, rows)))

    async def _send(self, row: dict[str, Any]) -> Result:
        delivery_id = row["delivery_id"]
        try:
            delivery = Delivered(delivery_id, row["route"], self._name, message_of(row))
        except MessageError as error:
            return Result(delivery_id, f"it is no message: {error}", 0)
        async with self._slots:
            if self._in_a_row >= self._options.failures:
                reason = (
                    f"not attempted, after {self._in_a_row} that failed one after the other; the last: {self._last}"
                )
                return Result(delivery_id, reason, 0)
            return await self._attempt(delivery)

    async def _attempt(self, delivery: Delivered) -> Result:
        attempts = 0
        while True:
            attempts += 1
            try:
                await self.sink.deliver(delivery)
            except DeliveryFailed as failure:
                wait = self._wait(failure, attempts)
                if wait is not None:
                    await self._sleep(wait)
                    continue
                # An endpoint that refuses one delivery is there, and may take the next.
                self._in_a_row = self._in_a_row + 1 if failure.retry else 0
                self._last = failure.reason
                return Result(delivery.delivery_id, failure.reason, attempts)
            self._in_a_row = 0
            return Result(delivery.delivery_id, None, attempts)

    def _wait(self, failure: DeliveryFailed, attempts: int) -> float | None:
        """How long to wait before the next attempt; None if there is none."""
        options = self._options
        if not failure.retry or attempts >= options.attempts or self._in_a_row >= options.failures:
            return None
        if failure.after is not None and failure.after > options.longest_wait:
            return None
        longest = min(options.longest_wait, options.wait * 2.0 ** (attempts - 1))
        return max(failure.after or 0.0, self._random.uniform(0.0, longest))
