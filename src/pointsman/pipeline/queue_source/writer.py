"""``write`` and ``writeStream`` of ``format("pointsman")``: rows become messages, exactly once."""

# ruff: noqa: N803 (the names are Spark's)

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from pointsman.errors import InputError
from pointsman.patterns.dialect import find_dialect
from pointsman.pipeline.queue_source.commit import abandon, commit, stage
from pointsman.pipeline.queue_source.rows import Checker, check_columns
from pointsman.store.queue import Queue

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pointsman.pipeline.queue_source.source import Options

QUERY = "sql.streaming.queryId"
BATCH = "streaming.sql.batchId"
"""The properties of a task by which Spark says what it belongs to."""


@dataclass(frozen=True)
class Left(WriterCommitMessage):
    """What a task has left for the driver."""

    query: str
    name: str | None
    """Of the file; None if there was no row."""


class _Writer:
    """What both writers do."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise InputError("bad-usage", "messages can only be appended to a queue, not overwrite what is there")
        check_columns(schema)
        self._options = options
        with self._open() as queue:
            self._dialect, self._max_bytes = queue.store.dialect.name, queue.settings.max_bytes

    def _open(self) -> Queue:
        return Queue(self._options.path, dialect=self._options.dialect, dedupe=self._options.dedupe)

    def _stage(self, query: str, batch: int, iterator: Iterator[pa.RecordBatch]) -> Left:
        checker = Checker(find_dialect(self._dialect), self._max_bytes)
        return Left(query, stage(self._options.staging, query, batch, iterator, checker.check))

    def _commit(self, query: str, batch: int | None, messages: Sequence[WriterCommitMessage | None]) -> None:
        with self._open() as queue:
            commit(queue.store, self._options.staging, query, batch, _names(messages))

    def _abandon(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        with self._open() as queue:
            abandon(queue.store, self._options.staging, _names(messages))


class QueueWriter(_Writer, DataSourceArrowWriter):
    """Writes a DataFrame, all of it or nothing; with the options ``query`` and ``batch``, once for both of them."""

    def __init__(self, options: Options, schema: StructType, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite)
        self._query = options.query or f"write-{uuid.uuid4()}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Left:
        """Leaves the rows of a task for the driver. Raises ``PointsmanError`` for one that the queue would refuse."""
        return self._stage(self._query, self._options.batch or 0, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Puts what the tasks have left."""
        self._commit(self._query, self._options.batch, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Throws it away."""
        self._abandon(messages)


class QueueStreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the micro-batches of a query, each once however often it is replayed."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Left:
        """Leaves the rows of a task for the driver. Raises ``PointsmanError`` for one that the queue would refuse."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY)
        batch = None if context is None else context.getLocalProperty(BATCH)
        if query is None or batch is None:
            raise InputError("bad-usage", "Spark does not say to which query and batch the task belongs")
        return self._stage(query, int(batch), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Puts what the tasks have left, unless the batch was written before."""
        queries = {message.query for message in messages if isinstance(message, Left)}
        for query in sorted(queries):
            self._commit(query, batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, as Spark calls it
        """Throws it away, unless it was decided already."""
        self._abandon(messages)


def _names(messages: Sequence[WriterCommitMessage | None]) -> list[str]:
    return [message.name for message in messages if isinstance(message, Left) and message.name is not None]
