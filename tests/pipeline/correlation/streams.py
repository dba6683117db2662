"""Streams for tests: folders of files as the source, each file a batch, and Parquet as the sink."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pointsman.message import Message

SCHEMA = (
    "id string, subject string, correlation_id string, metadata map<string,string>, body string, time timestamp, "
    "content_type string"
)
Make = Callable[[DataFrame], DataFrame]


class Stream:
    """A stream that can be stopped and started again from its checkpoint."""

    def __init__(self, spark: SparkSession, folder: Path, make: Make, schema: str = SCHEMA) -> None:
        self.spark = spark
        self.make = make
        self.schema = schema
        self.source, self.sink, self.checkpoint = folder / "source", folder / "sink", folder / "checkpoint"
        self.source.mkdir()
        self._files = 0

    def add(self, messages: Iterable[Message]) -> None:
        """A file, which will be a batch of its own; the rows have their positions, and stand in it from the last on."""
        self._files += 1
        file = self.source / f"{self._files:04}.json"
        rows = [row_of(each) | {"position": position} for position, each in enumerate(messages)]
        file.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
        os.utime(file, (self._files, self._files))

    def read(self) -> DataFrame:
        """The source as a stream."""
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.source))

    def writer(self) -> DataStreamWriter:
        """From the source to files, with a checkpoint."""
        return self.make(self.read()).writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))

    def run(self) -> list[dict[str, Any]]:
        """Handles what is there, stops, and gives all rows that the sink has, as dicts."""
        query = self.writer().trigger(availableNow=True).start(str(self.sink))
        try:
            query.awaitTermination()
        finally:
            query.stop()
        return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        """All rows that the sink has, those of one file in their order."""
        return [row.asDict() for row in self.spark.read.parquet(str(self.sink)).collect()]


def row_of(message: Message) -> dict[str, Any]:
    """A message as a row of JSON."""
    return {
        "id": message.id,
        "subject": message.subject,
        "correlation_id": message.correlation_id,
        "metadata": dict(message.metadata),
        "body": message.body.decode(),
        "time": None if message.time is None else message.time.isoformat(),
        "content_type": message.content_type,
    }
