"""The stage ``deliver``: the deliveries of a batch are written to their destinations, each for itself.

Whatever is written carries the number of the batch, and takes the place of what an earlier attempt at the same batch
has left: a batch that is repeated after a crash changes nothing. A destination that fails keeps nobody from the others;
its deliveries become dead letters with the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.pipeline.breaking import WAITING, Outcome
from pointsman.pipeline.running.settings import PipelineFile, Sink
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOG = logging.getLogger("pointsman.pipeline")
IN_FOLDERS = ("handler", "folder", "file")
"""Types of destinations whose deliveries are written as files here."""
MESSAGE_COLUMNS = ("subject", "body", "metadata", "content_type", "time", "source", "correlation_id", "causation_id")


class Written(NamedTuple):
    """What became of the deliveries of a batch."""

    outcomes: dict[str, Outcome]
    """By the destination that they were for, before any fallback."""
    failed: dict[str, str]
    """The destinations that failed, and why."""


class Deliverer:
    """Writes the deliveries of batches."""

    def __init__(self, pipeline: PipelineFile, query: str) -> None:
        self._pipeline = pipeline
        self._query = query

    def deliver(self, deliveries: DataFrame, table: RoutingTable, batch: int, counts: Mapping[str, int]) -> Written:
        """Writes them. ``counts`` are the deliveries to each destination; what fails is told, not raised."""
        sinks = {name: self._sink(table, name) for name in counts}
        failed: dict[str, str] = {}
        together = [name for name, sink in sinks.items() if sink is None]
        if together:
            failed |= self._write_together(deliveries, together, batch)
        for name, sink in sinks.items():
            if sink is not None:
                reason = self._attempt(self._of(deliveries, name), sink, name, batch)
                failed |= {name: reason} if reason is not None else {}
        for name, reason in failed.items():
            self._bury(self._of(deliveries, name), name, reason, batch)
        outcomes = {
            name: Outcome(failed=count) if name in failed else Outcome(succeeded=count)
            for name, count in counts.items()
        }
        return Written(outcomes, failed)

    def bury_waiting(self, waiting: DataFrame, batch: int) -> None:
        """Deliveries whose breaker is open and that have no fallback become dead letters."""
        self._bury(waiting, "waiting", WAITING, batch)

    def _write_together(self, deliveries: DataFrame, names: list[str], batch: int) -> dict[str, str]:
        """All that go to the folder of the pipeline, in one job; one by one if that fails, to see whose fault it is."""
        sink = Sink(format=self._pipeline.written.format, path="deliveries")
        base = self._path("deliveries")
        rows = deliveries.filter(deliveries["destination"].isin(names))
        try:
            self.save(rows, sink.format, {}, f"{base}/batch={batch}", by="destination")
        except Exception as error:
            LOG.warning("batch %s: the deliveries could not be written together: %s", batch, _reason(error))
        else:
            return {}
        failed = {}
        for name in names:
            one = Sink(format=sink.format, path=f"{base}/batch={batch}/destination={name}")
            try:
                self.save(self._of(deliveries, name), one.format, {}, one.path)
            except Exception as error:
                failed[name] = _reason(error)
        return failed

    def _attempt(self, rows: DataFrame, sink: Sink, name: str, batch: int) -> str | None:
        """Writes the deliveries of one destination; why it failed, if it did."""
        try:
            if sink.format == "pointsman":
                self._put(rows, sink, name, batch)
            else:
                self.save(rows, sink.format, sink.options, f"{self._pipeline.at(sink.path)}/batch={batch}")
        except Exception as error:
            return _reason(error)
        return None

    def _put(self, rows: DataFrame, sink: Sink, name: str, batch: int) -> None:
        """Into a queue; the number of the batch keeps what is repeated from being put twice."""
        present = [column for column in MESSAGE_COLUMNS if column in rows.columns]
        writer = rows.select(rows["delivery_id"].alias("id"), *present).write.format("pointsman").mode("append")
        for option, value in sink.options.items():
            writer = writer.option(option, value)
        writer = writer.option("query", f"{self._query}/{name}").option("batch", batch)
        writer.option("path", self._pipeline.at(sink.path)).save()

    def _bury(self, rows: DataFrame, name: str, reason: str, batch: int) -> None:
        from pyspark.sql import functions as sf

        dead = rows.withColumn("reason", sf.lit(reason))
        self.save(dead, "parquet", {}, f"{self._path('dead')}/{name}/batch={batch}", text=False)

    def save(
        self, rows: DataFrame, form: str, options: Mapping[str, Any], path: str, *, by: str = "", text: bool = True
    ) -> None:
        """Writes rows in a format, in the place of what is there; bodies as texts, where a format is for reading."""
        from pyspark.sql import functions as sf

        readable = text and form in ("json", "csv") and "body" in rows.columns
        shown = rows.withColumn("body", sf.col("body").cast("string")) if readable else rows
        writer = shown.write.mode("overwrite").format(form)
        for option, value in options.items():
            writer = writer.option(option, value)
        (writer.partitionBy(by) if by else writer).save(path)

    def _sink(self, table: RoutingTable, name: str) -> Sink | None:
        """Where a destination is written; None for the folder of the pipeline."""
        given = self._pipeline.written.destinations.get(name)
        if given is not None:
            return given
        known = table.destinations.get(name)
        if known is None or known.type in IN_FOLDERS:
            return None
        if known.type == "queue":
            return Sink(format="pointsman", path=str(known.options["path"]))
        return None

    @staticmethod
    def _of(deliveries: DataFrame, name: str) -> DataFrame:
        return deliveries.filter(deliveries["destination"] == name)

    def _path(self, name: str) -> str:
        return f"{self._pipeline.at(self._pipeline.written.out)}/{name}"


def _reason(error: Exception) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:500] if text else ''}"
