"""Sagas and gatherings of a running pipeline: a second query over the same source, with state of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pointsman.pipeline.delivering.saving import save
from pointsman.pipeline.running.batch import BatchRunner
from pointsman.pipeline.running.settings import PipelineFile
from pointsman.pipeline.running.versions import Tell
from pointsman.pipeline.stages import authorize, translate, with_ids
from pointsman.pipeline.stateful.follow import follow
from pointsman.pipeline.stateful.rows import COMMAND
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIELDS = ("id", "subject", "metadata", "body", "content_type", "correlation_id", "causation_id", "time")


class Follower:
    """Follows the sagas and gatherings of a table, and writes what they send and where they went.

    ``sender`` routes and delivers the commands of a batch.
    """

    def __init__(self, pipeline: PipelineFile, table: RoutingTable, tell: Tell, sender: BatchRunner) -> None:
        self._sender = sender
        self._pipeline = pipeline
        self._table = table
        self._tell = tell
        self.moves: Counter[tuple[str, str]] = Counter()

    def events(self, messages: DataFrame) -> DataFrame:
        """What the messages do to the sagas and gatherings.

        Those that access refuses do nothing. A pipeline that ends with its source goes by the times of the messages: it
        cannot wait for a clock.
        """
        written = self._pipeline.written
        translated = translate(authorize(with_ids(messages), self._table, principal=written.principal), self._table)
        if written.trigger.kind == "interval" or "time" not in translated.columns:
            return follow(translated, self._table)
        late = f"{round(written.late * 1000)} milliseconds"
        return follow(translated.withWatermark("time", late), self._table, time_mode="eventTime")

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Writes the rows of one batch, by their kinds."""
        self._sender.begin(batch)
        kept = rows.persist()
        try:
            found = kept.groupBy("kind", "outcome").count().collect()
            if found:
                out = f"{self._pipeline.at(self._pipeline.written.out)}/followed/batch={batch}"
                save(kept, self._pipeline.written.format, {}, out, by=("kind",))
            if any(row["kind"] == COMMAND for row in found):
                self._sender(commands_of(kept), batch)
        finally:
            kept.unpersist()
        for row in found:
            self.moves[row["kind"], row["outcome"] or ""] += row["count"]
        counts = {f"{kind} {outcome}".strip(): count for (kind, outcome), count in sorted(self.moves.items())}
        self._tell("followed", batch=batch, **counts)


def commands_of(rows: DataFrame) -> DataFrame:
    """The commands among what was followed, as messages; a batch that is repeated has the same ones, by their ids."""
    from pyspark.sql import functions as sf

    commands = rows.where(rows["kind"] == COMMAND)
    return commands.select(*FIELDS, sf.lit("pointsman").alias("source"))
