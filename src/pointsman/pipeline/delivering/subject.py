"""Deliveries back into the routing: each becomes a message under another subject, in the queue that is read from.

The same messages as ``broker.destinations.subject.republished`` makes, as columns. A message that went round too often
is not published again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.broker.destinations.subject import HOPS, MAXIMUM_HOPS
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.delivering.place import Turn
from pointsman.pipeline.delivering.queue import QueuePlace
from pointsman.pipeline.delivering.text import filled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNT = "^[0-9]{1,9}$"


class SubjectPlace:
    """A subject to publish under, and the queue to publish into."""

    def __init__(self, subject: str, queue: QueuePlace) -> None:
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
