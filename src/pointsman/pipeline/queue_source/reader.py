"""``read`` and ``readStream`` of ``format("pointsman")``.

A batch reads the stored messages, or those ready for a subscription, and takes nothing. A stream takes the deliveries
of a subscription and acknowledges them when Spark is done with them.
"""

# ruff: noqa: N802 (the names are Spark's)

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from pointsman.errors import InputError, StoreError
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.pipeline.queue_source import sql
from pointsman.pipeline.queue_source.rows import Ask, Converter, Stored, arrow_schema, pages
from pointsman.pipeline.queue_source.stream import ALL, Stream, bounds, find_subscription
from pointsman.store import inspect
from pointsman.store.lease import DAMAGED, MISSING
from pointsman.store.pattern_pop import PRIORITIES
from pointsman.store.queue import Queue
from pointsman.store.subscriptions import MAIN

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pointsman.pipeline.queue_source.source import Options

LOG = logging.getLogger("pointsman.pipeline")
LAST_ROUTE = 1 << 62
"""Behind every route by which a delivery of one message may have come."""
WORTH_A_TASK = 1000
"""Messages for which a task of its own is worth its while."""
BOOT = Path("/proc/sys/kernel/random/boot_id")


class Location(NamedTuple):
    """A queue's file, and the host where it was opened: SQLite's log works on one host only."""

    path: str
    file: str
    """What the file says of itself; other for each queue."""
    host: str
    machine: str
    """The same for all processes, and all containers, of one running kernel."""


@dataclass(frozen=True)
class Part(InputPartition):
    """What one task reads: the messages, or positions of a stream, after ``after`` and up to ``through``."""

    location: Location
    subscription: int | None
    """None for everything that is stored."""
    after: int
    through: int


class QueueReader(DataSourceReader):
    """Reads once, in the order of numbers within each part. Not safe between threads.

    It takes no filters from Spark: if a query uses a DataFrame twice, Spark 4.3 gives both uses what it pushed down for
    one of them. The options narrow what is read.
    """

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        arrow_schema(schema)

    def partitions(self) -> Sequence[InputPartition]:
        """The parts, as of now. Raises ``StoreError``: ``store-not-opened`` and ``no-subscription``."""
        options = self._options
        if not Path(options.path).exists():
            raise StoreError("store-not-opened", "there is no such file", file=options.path)
        with Queue(options.path) as queue:
            if options.subscription is not None:
                inspect.list_new(queue.store)
            with queue.store.read() as connection:
                first, last = next(iter(connection.execute(sql.BOUNDS)))
            after = max(first, options.start or 0) - 1
            through = last if options.end is None else min(last, options.end)
            subscription = None if options.subscription is None else _subscription(queue, options)
            location = _location(queue)
        parts = split(after, through, options.partitions) or [(0, 0)]
        return [Part(location, subscription, *each) for each in parts]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The messages of a part.

        Raises ``StoreError``: ``queue-elsewhere`` on another host than that of the file, and ``message-damaged`` unless
        the options say that damaged messages are left out, which is logged.
        """
        return _read(partition, self._schema, _questions(partition), self._leave_out, self._options.pattern)

    def _leave_out(self, queue: Queue, damaged: list[Stored]) -> None:
        if self._options.damaged == "fail":
            problem = f"message {damaged[0].sequence:,} is not what was put; the option damaged=skip leaves such out"
            raise StoreError("message-damaged", problem, file=queue.store.path)
        LOG.warning("%s: %d damaged messages were left out", queue.store.path, len(damaged))


class QueueStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streams the deliveries of one subscription, or of the queue itself.

    An offset is a position of the stream (see ``Stream``), and says of which stream. Not safe between threads.
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
        self._last = ALL

    def initialOffset(self) -> dict[str, Any]:
        """Where a query without a checkpoint begins: before the first delivery that was not acknowledged.

        Spark asks for it again when it plans and replays the first batch, which has no other start.
        """
        progress = self._stream(make=True).progress()
        return {"stream": "", "position": 0 if progress is None else progress.ended}

    def getDefaultReadLimit(self) -> ReadLimit:
        """What the option ``maxRows`` says."""
        return ReadAllAvailable() if self._options.maxRows is None else ReadMaxRows(self._options.maxRows)

    def prepareForTriggerAvailableNow(self) -> None:
        """From now on, nothing that is put later is read."""
        self._last = inspect.last_number(self._opened().store)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Takes deliveries for the next batch, and returns where it ends.

        Spark asks when the batch that ended at the start is done, so what came before is acknowledged here too: of the
        last batch of a query that ends by itself, nothing else tells. The first deliveries that a query takes make it
        the stream of its subscription. Raises ``StoreError``: ``stream-taken`` if another has become that since,
        ``stream-behind`` if what comes after the start was acknowledged already.
        """
        stream, name, position = self._stream(), start["stream"], start["position"]
        if not name:
            progress = stream.progress()
            if (progress is None or progress.taken <= position) and not stream.is_anything_to_take():
                return start
            name = self._begun = self._begun or stream.begin().stream
        else:
            stream.end(name, position)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        end = stream.take(name, position, most, self._last)
        return start if end == position else {"stream": name, "position": end}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The parts of a batch. Raises ``StoreError``: ``stream-taken`` and ``stream-behind``."""
        if start["position"] == end["position"]:
            return []
        self._stream().check(end["stream"], start["position"])
        location = _location(self._opened())
        parts = split(start["position"], end["position"], self._options.partitions)
        return [Part(location, self._subscription, *each) for each in parts]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The messages of a part. Those that are damaged become dead letters, and are logged.

        Raises ``StoreError`` (``queue-elsewhere``) on another host than that of the file.
        """
        number = partition.subscription or MAIN
        first, last, _ = bounds(partition.after, partition.through, number)

        def ask(connection: Any, before: Stored | None) -> Any:
            return connection.execute(sql.TAKEN, (first if before is None else before.until, last, number))

        def give_up(queue: Queue, damaged: list[Stored]) -> None:
            reasons = (MISSING if each.body is None or each.key is None else DAMAGED for each in damaged)
            places = [(each.until, each.sequence, each.via, why) for each, why in zip(damaged, reasons, strict=True)]
            count = Stream(queue.store, number).give_up(places)
            LOG.warning("%s: %d damaged messages became dead letters", queue.store.path, count)

        return _read(partition, self._schema, [ask], give_up)

    def commit(self, end: dict[str, Any]) -> None:
        """Acknowledges the deliveries of all batches up to this one. Raises ``StoreError`` (``stream-taken``)."""
        if end["stream"]:
            self._stream().end(end["stream"], end["position"])

    def stop(self) -> None:
        """Closes the file; what was taken and not acknowledged stays with the stream."""
        if self._queue is not None:
            self._queue.close()
            self._queue = None

    def _opened(self) -> Queue:
        if self._queue is None:
            self._queue = Queue(self._options.path, dialect=self._options.dialect)
        return self._queue

    def _stream(self, *, make: bool = False) -> Stream:
        queue = self._opened()
        if self._subscription is None:
            self._subscription = _subscription(queue, self._options, make=make)
        return Stream(queue.store, self._subscription)


def split(after: int, through: int, parts: int | None) -> list[tuple[int, int]]:
    """Ranges that together are the numbers after ``after``, up to and including ``through``.

    As many as asked for, as far as there are numbers; otherwise one for each core, if they are worth it.

    >>> split(10, 15, 2)
    [(10, 12), (12, 15)]
    >>> split(10, 10, 2)
    []
    """
    count = through - after
    if count <= 0:
        return []
    wanted = min(os.cpu_count() or 1, -(-count // WORTH_A_TASK)) if parts is None else min(parts, count)
    return list(pairwise(after + count * number // wanted for number in range(wanted + 1)))


def _subscription(queue: Queue, options: Options, *, make: bool = False) -> int:
    """The number of the subscription that the options name; that of the queue itself if they name none.

    With ``make``, one that does not exist is made, with the pattern of the options or for everything, and gets what is
    stored already from the message ``start`` on. Raises ``StoreError``: ``no-subscription`` and
    ``subscription-differs``, and ``PatternError``.
    """
    name = options.subscription
    if not name:
        return MAIN
    found = find_subscription(queue.store, name)
    if found is None and not make:
        raise StoreError("no-subscription", f"there is no subscription {name!r}")
    if make and (found is None or options.pattern is not None):
        pattern = queue.store.dialect.many if options.pattern is None else options.pattern
        found = queue.subscribe(name, pattern).id
    number = MAIN if found is None else found
    if make and options.start is not None and Stream(queue.store, number).progress() is None:
        # Again if it was broken off: what is there already does not come twice.
        queue.replay(options.start, subscription=name)
    return number


def _read(
    part: Part,
    schema: StructType,
    questions: Iterable[Ask],
    set_aside: Callable[[Queue, list[Stored]], None],
    pattern: str | None = None,
) -> Iterator[pa.RecordBatch]:
    """The answers to questions, one record batch a page; damaged messages are not in it, but are set aside."""
    with _open_at(part.location) as queue:
        converter = Converter(queue.store.file, arrow_schema(schema))
        matches = _matcher(pattern, queue.store.dialect)
        for ask in questions:
            for page in pages(queue.store, ask):
                batch, damaged = converter.convert([each for each in page if matches(each.key)])
                if damaged:
                    set_aside(queue, damaged)
                yield batch


def _questions(part: Part) -> Iterator[Ask]:
    """What is stored, in one question; or what is ready, in one for each priority."""

    def ask_stored(connection: Any, before: Stored | None) -> Any:
        after = part.after if before is None else before.sequence
        return connection.execute(sql.MESSAGES, (after, part.through))

    if part.subscription is None:
        yield ask_stored
        return
    for priority in PRIORITIES:

        def ask_ready(connection: Any, before: Stored | None, priority: int = priority) -> Any:
            after = (part.after, LAST_ROUTE) if before is None else (before.sequence, before.via)
            return connection.execute(sql.READY, (part.subscription, priority, *after, part.through))

        yield ask_ready


def _matcher(pattern: str | None, dialect: Dialect) -> Callable[[bytes | None], bool]:
    """Whether a subject matches the pattern; one that cannot be read is damaged, and does. Raises ``PatternError``."""
    if pattern is None:
        return lambda _: True
    wanted = Pattern(pattern, dialect)

    @lru_cache(maxsize=100_000)
    def matches(key: bytes | None) -> bool:
        try:
            return key is None or inspect.matches(wanted, key.decode())
        except UnicodeDecodeError:
            return True

    return matches


def _location(queue: Queue) -> Location:
    return Location(queue.store.path, queue.store.file, socket.gethostname(), _machine())


def _open_at(location: Location) -> Queue:
    """Opens the queue, in a process that may run on another host than the driver.

    Raises ``StoreError`` (``queue-elsewhere``) if it does, and as ``Queue`` does.
    """
    there = (
        f"the file is on the host {location.host}, and this task runs on {socket.gethostname()}; "
        "SQLite works on one host only"
    )
    if _machine() != location.machine or not Path(location.path).exists():
        raise StoreError("queue-elsewhere", there, file=location.path)
    queue = Queue(location.path)
    if queue.store.file != location.file:
        queue.close()
        raise StoreError("queue-elsewhere", f"it is another queue than the driver has; {there}", file=location.path)
    return queue


def _machine() -> str:
    try:
        return BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()
