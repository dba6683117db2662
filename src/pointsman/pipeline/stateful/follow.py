"""Following what a table keeps states of: the one function that sagas and gatherings have in common."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.columns import find
from pointsman.pipeline.stateful.events import crossing
from pointsman.pipeline.stateful.part import part_of
from pointsman.pipeline.stateful.rows import CROSSING
from pointsman.routing.plain import is_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    ``docs/pipeline-stateful.md``.

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

    from pointsman.pipeline.stateful.processor import BucketProcessor

    spark = messages.sparkSession
    part = part_of(table, sagas=sagas, gatherings=gatherings)
    rows = crossing(messages, part, buckets)
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    processor = BucketProcessor(json.dumps(part.plain, ensure_ascii=False), exact=time_mode == "eventTime")
    made = rows.groupBy("bucket").transformWithStateInPandas(processor, CROSSING, "append", time_mode)
    return made.withColumns(
        {
            "path": sf.from_json("path", "array<string>"),
            "metadata": sf.from_json("metadata", "map<string,string>"),
            "time": sf.timestamp_micros("time"),
        }
    )


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
