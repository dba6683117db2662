"""``spark.read.format("pointsman")``: what is stored, or what is ready for a subscription; nothing is taken."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import statements
from pointsman.pipeline.queue_source.options import Options
from pointsman.pipeline.queue_source.place import Place, open_at, place_of
from pointsman.pipeline.queue_source.ranges import split
from pointsman.pipeline.queue_source.rows import Converter, Stored, arrow_schema, pages
from pointsman.pipeline.queue_source.subscribed import number_of
from pointsman.pipeline.queue_source.wanted import Wanted
from pointsman.store.asking import PRIORITIES
from pointsman.store.lookup import list_new
from pointsman.store.queue import Queue
from pointsman.store.store import Store

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

LOG = logging.getLogger("pointsman.pipeline")
LAST_ROUTE = 1 << 62
"""Behind every route by which a delivery of one message may have come."""


@dataclass(frozen=True)
class Sequences(InputPartition):
    """A part of what is read: the messages behind ``after``, up to and with ``through``."""

    place: Place
    subscription: int | None
    """None for everything that is stored."""
    after: int
    through: int


class QueueReader(DataSourceReader):
    """Reads once, in the order of numbers within each part. Not safe between threads.

    It takes no filters from Spark: of a DataFrame that a query uses twice, Spark 4.3 would give both uses what was
    pushed down for one of them. The options narrow what is read.
    """

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        arrow_schema(schema)

    def partitions(self) -> Sequence[InputPartition]:
        """The parts, as of now. Raises ``StoreError``: ``store-not-opened`` and ``no-subscription``."""
        with _existing(self._options) as queue:
            if self._options.subscription is not None:
                list_new(queue.store)
            with queue.store.read() as connection:
                first, last = next(iter(connection.execute(statements.BOUNDS)))
            after = max(first, self._options.start or 0) - 1
            through = last if self._options.end is None else min(last, self._options.end)
            subscription = None if self._options.subscription is None else number_of(queue, self._options)
            place = place_of(queue)
        parts = split(after, through, self._options.partitions) or [(0, 0)]
        return [Sequences(place, subscription, *each) for each in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part.

        Raises ``StoreError``: ``queue-elsewhere`` on another host than that of the file, and ``message-damaged`` unless
        the options say that damaged messages are left out, which is logged.
        """
        if not isinstance(partition, Sequences):
            raise TypeError(f"a part of this source is no {type(partition).__name__}")
        with open_at(partition.place) as queue:
            converter = Converter(queue.store.file, arrow_schema(self._schema))
            wanted = Wanted(self._options.pattern, queue.store.dialect)
            for page in _pages(queue.store, partition):
                batch, damaged = converter.convert(wanted.among(page))
                self._check(queue, damaged)
                yield batch

    def _check(self, queue: Queue, damaged: list[Stored]) -> None:
        if not damaged:
            return
        if not self._options.skips_damaged:
            problem = f"message {damaged[0].sequence:,} is not what was put; the option damaged=skip leaves such out"
            raise StoreError("message-damaged", problem, file=queue.store.path)
        LOG.warning("%s: %d damaged messages were left out", queue.store.path, len(damaged))


def _pages(store: Store, partition: Sequences) -> Iterator[list[Stored]]:
    if partition.subscription is None:

        def ask_stored(connection: Any, before: Stored | None) -> Any:
            after = partition.after if before is None else before.sequence
            return connection.execute(statements.MESSAGES, (after, partition.through))

        yield from pages(store, ask_stored)
        return
    for priority in PRIORITIES:

        def ask_ready(connection: Any, before: Stored | None, priority: int = priority) -> Any:
            after = (partition.after, LAST_ROUTE) if before is None else (before.sequence, before.via)
            bounds = (partition.subscription, priority, *after, partition.through)
            return connection.execute(statements.READY, bounds)

        yield from pages(store, ask_ready)


def _existing(options: Options) -> Queue:
    """The queue. Raises ``StoreError``, as to read does not make one."""
    if not Path(options.path).exists():
        raise StoreError("store-not-opened", "there is no such file", file=options.path)
    return Queue(options.path)
