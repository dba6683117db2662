"""Deliveries into a queue: each becomes a message, whose id is that of the delivery.

The queue notes the batches of each query, and overlooks one that comes twice. What it can never take, because it is too
large or has a bad subject, keeps nothing else from being put.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.destinations.file import make_folder
from pointsman.destinations.subject import HOPS, MAXIMUM_HOPS
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.destinations.place import UNDELIVERED, Turn, filled

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

CARRIED = ("body", "metadata", "content_type", "time", "source", "correlation_id", "causation_id")


class QueueDestination:
    """A queue in its file."""

    def __init__(self, path: str, options: dict[str, Any]) -> None:
        options = dict(options)
        self._path = path
        self._key = str(options.pop("routing_key", "{subject}"))
        self._options = options

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Puts them; those that the queue refuses are told, if it takes the others."""
        columns = MessageColumns(rows)
        carried = [getattr(columns, name).alias(name) for name in CARRIED if columns.has(name)]
        subject = filled(self._key, columns.subject)
        return self.put(rows.select(rows["delivery_id"].alias("id"), subject.alias("subject"), *carried), turn)

    def put(self, messages: DataFrame, turn: Turn) -> DataFrame | None:
        """Puts messages whose ids are those of their deliveries, as ``deliver`` does."""
        try:
            self._put(messages, turn)
        except Exception:
            refused = self._refused(messages)
            if refused.isEmpty():
                raise
            self._put(messages.join(refused, messages["id"] == refused["delivery_id"], "left_anti"), turn)
            return refused
        return None

    def _put(self, messages: DataFrame, turn: Turn) -> None:
        make_folder(Path(self._path).parent)
        writer = messages.write.format("pointsman").mode("append").options(**self._options)
        query, batch = f"{turn.query}/{turn.name}", turn.batch
        if turn.replay is not None:
            query, batch = f"{query}/replay/{turn.batch}", turn.replay
        writer.option("query", query).option("batch", batch).option("path", self._path).save()

    def _refused(self, messages: DataFrame) -> DataFrame:
        """What the queue would never take, and why. Raises ``StoreError`` if the queue cannot be opened."""
        from pointsman.store.queue import Queue

        with Queue(self._path, dialect=self._options.get("dialect")) as queue:
            dialect, most = queue.store.dialect.name, queue.settings.max_bytes

        def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            from pointsman.patterns.dialect import find_dialect
            from pointsman.pipeline.queue_source.rows import Checker

            schema = pa.schema({"delivery_id": pa.string(), "reason": pa.string()})
            checker = Checker(find_dialect(dialect), most)
            for batch in batches:
                refused = [{"delivery_id": id, "reason": reason} for id, reason in checker.refused(batch)]
                yield pa.RecordBatch.from_pylist(refused, schema)

        return messages.mapInArrow(check, UNDELIVERED)


COUNT = "^[0-9]{1,9}$"


class SubjectDestination:
    """A subject to publish under, and the queue to publish into."""

    def __init__(self, subject: str, queue: QueueDestination) -> None:
        self._subject = subject
        self._queue = queue

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Puts the messages into the queue; those that are in a circle, and those that it refuses, are told."""
        from pyspark.sql import functions as sf

        hops = _hops(rows)
        ended = rows.where(hops >= MAXIMUM_HOPS)
        reason = sf.format_string(
            "the message was published again %d times already; the routes send it round in a circle", hops
        )
        told = ended.select("delivery_id", reason.alias("reason"))
        refused = self._queue.put(republished(rows.where(hops < MAXIMUM_HOPS), self._subject), turn)
        if refused is not None:
            return told.unionByName(refused)
        return None if told.isEmpty() else told


def republished(rows: DataFrame, subject: str) -> DataFrame:
    """The messages to publish; always the same ones for the same deliveries."""
    from pyspark.sql import functions as sf

    columns = MessageColumns(rows)
    others = sf.map_filter(_metadata(columns), lambda key, _: key != HOPS)
    counted = sf.create_map(sf.lit(HOPS), (_hops(rows) + 1).cast("string"))
    return rows.select(
        rows["delivery_id"].alias("id"),
        filled(subject, columns.subject).alias("subject"),
        sf.map_concat(others, counted).alias("metadata"),
        columns.body.alias("body"),
        columns.content_type.alias("content_type"),
        columns.time.alias("time"),
        columns.source.alias("source"),
        sf.coalesce(columns.correlation_id, columns.id).alias("correlation_id"),
        columns.id.alias("causation_id"),
    )


def _metadata(columns: MessageColumns) -> Column:
    from pyspark.sql import functions as sf

    return sf.coalesce(columns.metadata, sf.create_map().cast("map<string,string>"))


def _hops(rows: DataFrame) -> Column:
    """How often a message was published again; what is no number counts as none."""
    from pyspark.sql import functions as sf

    found = sf.element_at(_metadata(MessageColumns(rows)), HOPS)
    return sf.when(found.rlike(COUNT), found.cast("bigint")).otherwise(sf.lit(0).cast("bigint"))
