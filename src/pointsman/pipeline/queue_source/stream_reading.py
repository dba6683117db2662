"""``spark.readStream.format("pointsman")``: micro-batches of deliveries, acknowledged when Spark is done with them."""

# ruff: noqa: N802 (the names are Spark's)

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from pointsman.errors import InputError
from pointsman.pipeline.queue_source import admission, statements
from pointsman.pipeline.queue_source.options import Options
from pointsman.pipeline.queue_source.place import Place, open_at, place_of
from pointsman.pipeline.queue_source.ranges import split
from pointsman.pipeline.queue_source.rows import Converter, Stored, arrow_schema, pages
from pointsman.pipeline.queue_source.standing import begin, check, standing_of
from pointsman.pipeline.queue_source.subscribed import number_of
from pointsman.store import lookup
from pointsman.store.queue import Queue
from pointsman.store.taking import DAMAGED, MISSING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

LOG = logging.getLogger("pointsman.pipeline")


@dataclass(frozen=True)
class Positions(InputPartition):
    """A part of a micro-batch: the deliveries behind ``after``, up to and with ``through``."""

    place: Place
    subscription: int
    after: int
    through: int


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streams the deliveries of one subscription, or of the queue itself.

    An offset is a position of the stream (see ``admission``), and says of which stream. Not safe between threads.
    """

    def __init__(self, options: Options, schema: StructType) -> None:
        if options.pattern is not None and not options.subscription:
            problem = "the option 'pattern' needs a 'subscription', which is made with it; the queue itself has none"
            raise InputError("bad-usage", problem)
        if options.end is not None:
            raise InputError("bad-usage", "the option 'end' is for reading once; a stream has no end")
        self._options = options
        self._schema = schema
        arrow_schema(schema)
        self._queue: Queue | None = None
        self._subscription: int | None = None
        self._begun = ""
        """The stream that this query has become, if it began without one."""
        self._last = admission.ALL

    def initialOffset(self) -> dict[str, Any]:
        """Where a query without a checkpoint begins: before the first delivery that was not acknowledged.

        Spark asks for it again when it plans and replays the first batch, which has no other start.
        """
        standing = standing_of(self._opened().store, self._number(make=True))
        return {"stream": "", "position": 0 if standing is None else standing.ended}

    def getDefaultReadLimit(self) -> ReadLimit:
        """What the option ``maxRows`` says."""
        return ReadAllAvailable() if self._options.max_rows is None else ReadMaxRows(self._options.max_rows)

    def prepareForTriggerAvailableNow(self) -> None:
        """From now on, nothing that is put later is read."""
        self._last = lookup.last_number(self._opened().store)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Takes deliveries for the next batch, and gives where it ends.

        Spark asks when the batch that ended at the start is done, so what came before is acknowledged here too: of the
        last batch of a query that ends by itself, nothing else tells. The first deliveries that a query takes make it
        the stream of its subscription. Raises ``StoreError``: ``stream-taken`` if another has become that since,
        ``stream-behind`` if what comes after the start was acknowledged already.
        """
        store, number, stream, position = self._opened().store, self._number(), start["stream"], start["position"]
        if not stream:
            standing = standing_of(store, number)
            if (standing is None or standing.taken <= position) and not admission.is_anything_to_take(store, number):
                return start
            stream = self._begun = self._begun or begin(store, number).stream
        else:
            admission.end(store, number, stream, position)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = admission.take(store, number, stream, position, most, self._last)
        return start if end == position else {"stream": stream, "position": end}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The parts of a batch. Raises ``StoreError``: ``stream-taken`` and ``stream-behind``."""
        if start["position"] == end["position"]:
            return []
        queue, number = self._opened(), self._number()
        check(queue.store, number, end["stream"], start["position"])
        place = place_of(queue)
        parts = split(start["position"], end["position"], self._options.partitions)
        return [Positions(place, number, after, through) for after, through in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a part. Those that are damaged become dead letters, and are logged.

        Raises ``StoreError`` (``queue-elsewhere``) on another host than that of the file.
        """
        if not isinstance(partition, Positions):
            raise TypeError(f"a part of a batch of this source is no {type(partition).__name__}")
        first, last = admission.FIRST + partition.after, admission.FIRST + partition.through

        def ask(connection: Any, before: Stored | None) -> Any:
            after = first if before is None else before.until
            return connection.execute(statements.TAKEN, (after, last, partition.subscription))

        with open_at(partition.place) as queue:
            converter = Converter(queue.store.file, arrow_schema(self._schema))
            for page in pages(queue.store, ask):
                batch, damaged = converter.convert(page)
                _give_up(queue, partition.subscription, damaged)
                yield batch

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledges the deliveries of all batches up to this one. Raises ``StoreError`` (``stream-taken``)."""
        if end["stream"]:
            admission.end(self._opened().store, self._number(), end["stream"], end["position"])

    def stop(self) -> None:
        """Closes the file; what was taken and not acknowledged stays with the stream."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _opened(self) -> Queue:
        if self._queue is None:
            self._queue = Queue(self._options.path, dialect=self._options.dialect)
        return self._queue

    def _number(self, *, make: bool = False) -> int:
        if self._subscription is None:
            self._subscription = number_of(self._opened(), self._options, make=make)
        return self._subscription


def _give_up(queue: Queue, subscription: int, damaged: list[Stored]) -> None:
    if not damaged:
        return
    places = [
        (each.until, each.sequence, each.via, MISSING if each.body is None or each.key is None else DAMAGED)
        for each in damaged
    ]
    count = admission.give_up(queue.store, subscription, places)
    LOG.warning("%s: %d damaged messages became dead letters", queue.store.path, count)
