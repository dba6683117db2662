"""Deliveries to Kafka: the body under a topic for each row.

Kafka may get a delivery twice, after a crash; its id is in the header ``idempotency-key``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pointsman.destinations.http import DESTINATION, IDEMPOTENCY_KEY, ROUTE
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.destinations.place import Turn, filled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TOPIC = "^[a-zA-Z0-9._-]{1,249}$"
"""What Kafka takes for the name of a topic; ``.`` and ``..`` are none."""


class Kafka:
    """A cluster of Kafka, by the options that Spark has for it; ``topic`` may have ``{subject}`` in it."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = dict(options)
        self._topic = str(self._options.pop("topic", "{subject}"))

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:  # noqa: ARG002, as every place is called
        """Writes them; those whose topic is none are told."""
        from pyspark.sql import functions as sf

        topic = filled(self._topic, MessageColumns(rows).subject)
        records(rows.where(_is_topic(topic)), self._topic).write.format("kafka").options(**self._options).save()
        reason = sf.concat(sf.lit("Kafka has no topic of this name: "), sf.substring(topic, 1, 100))
        refused = rows.where(~_is_topic(topic)).select("delivery_id", reason.alias("reason"))
        return None if refused.isEmpty() else refused


def records(rows: DataFrame, topic: str = "{subject}") -> DataFrame:
    """The deliveries as Spark's sink for Kafka wants them: ``key``, ``value``, ``topic`` and ``headers``.

    The key is the correlation id, or else the id of the message, so that what belongs together stays in its order.
    """
    from pyspark.sql import functions as sf

    columns = MessageColumns(rows)
    told = {IDEMPOTENCY_KEY: rows["delivery_id"], ROUTE: rows["route"], DESTINATION: rows["destination"]}
    told |= {"content-type": columns.content_type} if columns.has("content_type") else {}
    headers = [
        sf.struct(sf.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in told.items()
    ]
    return rows.select(
        sf.coalesce(columns.correlation_id, columns.id).cast("binary").alias("key"),
        columns.body.alias("value"),
        filled(topic, columns.subject).alias("topic"),
        sf.array(*headers).alias("headers"),
    )


def _is_topic(topic: Column) -> Column:
    return topic.rlike(TOPIC) & ~topic.isin(".", "..")
