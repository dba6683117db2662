"""The DataFrame functions: what the messages of a stream, and the time, do to the sagas and gatherings of a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.columns import PROBLEM, MessageColumns, arrow_column, find
from pointsman.pipeline.correlation.rows import CROSSING, REST, UNKNOWN
from pointsman.pipeline.correlation.states import part_of
from pointsman.pipeline.json_lines import PLACE
from pointsman.routing.state_codec import is_whole
from pointsman.table.correlate import EVENT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pointsman.table.routing_table import RoutingTable

TimeMode = Literal["processingTime", "eventTime"]
BUCKETS = 64
NEEDED = ("pandas", "google.protobuf")
"""What Spark needs for state in Python, besides itself."""
SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""State with timers is kept in RocksDB alone; with a log of its changes, a batch need not write all of it anew."""
SAGA_COLUMNS = ("saga", "path")
"""Columns that only rows of sagas have."""
GATHERING_COLUMNS = ("route",)
"""Columns that only rows of gatherings have."""


def follow(
    messages: DataFrame,
    table: RoutingTable,
    *,
    buckets: int = BUCKETS,
    time_mode: TimeMode = "processingTime",
    sagas: bool = True,
    gatherings: bool = True,
) -> DataFrame:
    """What the messages of a stream, and the time, do to the sagas and gatherings of a table, as rows.

    ``messages`` is a stream with the columns ``subject`` and ``id``; the other fields of a message are used where they
    are present. Rows with a ``problem`` are left alone; translations are not made here. Messages of one correlation id
    that come in one batch are handled in the order of the column ``position`` if there is one, then of ``time``, then
    of their places in the source if they were read with them, then of ``id``. What comes out is written in
    ``docs/pipeline-stateful.md``. Commands and results that concern a saga or a gathering are followed too, at once.

    ``processingTime``: a message is handled at the time of its batch, and a timeout is taken in the first batch after
    it is due. ``eventTime``: a message is handled at its own ``time``, and a timeout is taken at the very time that it
    was due, once a message or the watermark is past it; the stream must have a watermark. Rows that are later than the
    watermark are handled all the same.

    ``buckets`` is how many values the states are kept in, by the hash of the correlation id. It must stay the same for
    the life of a checkpoint. The session's state store is set to RocksDB.

    Raises ``InputError`` (``bad-usage``) for a frame that is no stream or lacks a column, for ``buckets`` below 1 or
    another time mode; ``MissingExtraError`` without Spark or what it needs for this.
    """
    _check(messages, buckets, time_mode)
    from pyspark.sql import functions as sf

    from pointsman.pipeline.correlation.processor import BucketProcessor

    part = json.dumps(part_of(table, sagas=sagas, gatherings=gatherings), ensure_ascii=False)
    named = sagas and any(isinstance(edge.trigger, str) for saga in table.sagas.values() for edge in saga.edges)
    rows = _events(messages, part, buckets, named=named)
    for key, value in SETTINGS.items():
        messages.sparkSession.conf.set(key, value)
    processor = BucketProcessor(part, exact=time_mode == "eventTime")
    made = rows.groupBy("bucket").transformWithStateInPandas(processor, CROSSING, "append", time_mode)
    return made.withColumns(
        {
            "path": sf.from_json("path", "array<string>"),
            "metadata": sf.from_json("metadata", "map<string,string>"),
            "time": sf.timestamp_micros("time"),
        }
    )


def follow_sagas(
    events: DataFrame, table: RoutingTable, *, buckets: int = BUCKETS, time_mode: TimeMode = "processingTime"
) -> DataFrame:
    """A row for each command that the sagas of the table send, and one for each event or timeout that concerns one.

    The rows of ``kind`` ``command`` are messages; the broker gives those that follow from an event the same ids. The
    rows of ``kind`` ``move`` say what an event did to a saga: ``outcome`` is ``moved``, ``completed``, ``compensated``
    (it has ended, and something was compensated on its way), ``ignored`` or ``problem``, the last two with a
    ``reason``; ``path`` names the states that were entered.

    The arguments, what is promised and what is raised are those of ``follow``.
    """
    made = follow(events, table, buckets=buckets, time_mode=time_mode, gatherings=False)
    return made.drop(*GATHERING_COLUMNS)


def gather(
    messages: DataFrame, table: RoutingTable, *, buckets: int = BUCKETS, time_mode: TimeMode = "processingTime"
) -> DataFrame:
    """A row for each result of the scatter-gather routes of the table, and one for each request and each answer.

    The messages are requests and answers. A request that a route takes begins a gathering of its destinations; sending
    it to them is the stage ``deliver``. The rows of ``kind`` ``result`` are messages to the ``reply-to`` of the request
    (``subject`` is NULL if it named none), with the body that the broker gives a result; ``outcome`` says why it is
    complete: ``all``, ``quorum`` or ``timeout``. Those of ``kind`` ``request`` are ``asked``, or ``duplicate`` when the
    same request has come before. Those of ``kind`` ``answer`` are ``taken``, or dropped: ``late``, ``duplicate``,
    ``foreign``, or ``problem`` with a ``reason``.

    The arguments, what is promised and what is raised are those of ``follow``.
    """
    made = follow(messages, table, buckets=buckets, time_mode=time_mode, sagas=False)
    return made.drop(*SAGA_COLUMNS)


def _check(messages: DataFrame, buckets: int, time_mode: str) -> None:
    for package in ("pyspark", *NEEDED):
        if find_spec(package.partition(".")[0]) is None or find_spec(package) is None:
            raise MissingExtraError("spark", package.replace("google.", ""))
    if not messages.isStreaming:
        raise InputError("bad-usage", "messages are no stream; states are kept from one batch of a stream to the next")
    if not is_whole(buckets) or buckets < 1:
        raise InputError("bad-usage", f"buckets is {buckets!r}, not a whole number from 1")
    if time_mode not in ("processingTime", "eventTime"):
        raise InputError("bad-usage", f"time_mode is {time_mode!r}, neither 'processingTime' nor 'eventTime'")
    if time_mode == "eventTime" and find(messages, "time") is None:
        raise InputError("bad-usage", "messages have no column 'time', which eventTime goes by")


def _events(messages: DataFrame, part: str, buckets: int, *, named: bool) -> DataFrame:
    """The rows that may move something, each with the number of its bucket.

    ``named`` says that sagas may go by the name of an event. Raises ``InputError`` (``bad-usage``) if the messages have
    no column ``id``, or one of a type that cannot be.
    """
    from pyspark.sql import functions as sf

    columns = MessageColumns(messages)
    if not columns.has("id"):
        raise InputError("bad-usage", "messages have no column 'id', by which one that comes twice is known")
    position, place = find(messages, "position"), find(messages, PLACE)
    concerned = _concerned(part, columns.subject)
    if named:
        concerned = concerned | sf.coalesce(sf.map_contains_key(columns.metadata, sf.lit(EVENT)), sf.lit(False))
    if PROBLEM in messages.columns:
        # One expression: Spark would move a part that it can judge by itself to before the watermark.
        concerned = sf.when(messages[PROBLEM].isNull(), concerned).otherwise(False)
    correlation = sf.coalesce(sf.nullif(columns.correlation_id, sf.lit("")), columns.id, sf.lit(""))
    rest = sf.struct(*(getattr(columns, field).alias(field) for field in REST))
    unknown = sf.lit(UNKNOWN)
    return messages.where(concerned).select(
        sf.pmod(sf.xxhash64(correlation), sf.lit(buckets)).cast("int").alias("bucket"),
        (unknown if position is None else sf.coalesce(messages[position].cast("bigint"), unknown)).alias("position"),
        sf.coalesce(sf.unix_micros(columns.time), unknown).alias("time"),
        (sf.lit("") if place is None else messages[place]).alias("place"),
        sf.coalesce(columns.id, sf.lit("")).alias("id"),
        sf.coalesce(columns.subject, sf.lit("")).alias("subject"),
        correlation.alias("correlation_id"),
        sf.to_json(rest).alias("rest"),
        sf.coalesce(columns.body, sf.lit(b"")).alias("body"),
    )


def _concerned(part: str, subject: Column) -> Column:
    """Whether a message of a subject may move something; only the subjects cross to Python.

    The function is said not to be deterministic. Otherwise Spark would look for the watermark only in the rows that it
    lets pass, and time would stand still while nothing but other messages comes.
    """

    def concerns(columns: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        from pointsman.pipeline.correlation.states import tables_of

        tables = tables_of(part)
        for column in columns:
            encoded = column.dictionary_encode()
            found = [tables.concern(subject) for subject in encoded.dictionary.to_pylist()]
            yield pa.array(found, pa.bool_()).take(encoded.indices).fill_null(False)

    return arrow_column(concerns, "boolean", subject, deterministic=False)
