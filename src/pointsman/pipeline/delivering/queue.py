"""Deliveries into a queue: each becomes a message, whose id is that of the delivery.

The queue notes the batches of each query, and overlooks one that comes twice. What it can never take, because it is too
large or has a bad subject, keeps nothing else from being put.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.broker.destinations.durable import make_folder
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.delivering.place import UNDELIVERED, Turn
from pointsman.pipeline.delivering.text import filled

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

CARRIED = ("body", "metadata", "content_type", "time", "source", "correlation_id", "causation_id")


class QueuePlace:
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
            from pointsman.pipeline.queue_source.drafts import Checker

            checker = Checker(find_dialect(dialect), most)
            for batch in batches:
                pairs = list(checker.refused(batch))
                ids, reasons = ([pair[number] for pair in pairs] for number in (0, 1))
                yield pa.RecordBatch.from_arrays(
                    [pa.array(ids, pa.string()), pa.array(reasons, pa.string())], ["delivery_id", "reason"]
                )

        return messages.mapInArrow(check, UNDELIVERED)
