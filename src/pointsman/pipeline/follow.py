"""Sagas and gatherings of a running pipeline: a second query over the same source, with state of its own."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pointsman.pipeline.batch import BatchRunner
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.correlation.rows import COMMAND, DERIVED, RESULT
from pointsman.pipeline.correlation.states import OUTCOMES
from pointsman.pipeline.correlation.stream import follow
from pointsman.pipeline.destinations.folder import RESTORED, restore, save
from pointsman.pipeline.spark.files import files_of
from pointsman.pipeline.stages import authorize, translate, with_ids
from pointsman.pipeline.versions import Tell
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIELDS = ("id", "subject", "metadata", "body", "content_type", "correlation_id", "causation_id", "time")


class Follower:
    """Follows the sagas and gatherings of a table, and writes what they send and where they went.

    ``sender`` routes and delivers the commands and results of a batch.
    """

    def __init__(self, pipeline: PipelineFile, table: RoutingTable, tell: Tell, sender: BatchRunner) -> None:
        self._sender = sender
        self._pipeline = pipeline
        self._table = table
        self._tell = tell
        self._form = pipeline.written.format if pipeline.written.format in RESTORED else "parquet"
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
        """Writes the rows of one batch by their kinds, counted by the same job, and sends what is to be sent."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as sf

        self._sender.begin(batch)
        observation = Observation()
        outcome = sf.coalesce(rows["outcome"], sf.lit(""))
        counts = [sf.count_if((rows["kind"] == kind) & (outcome == of)).alias(f"{kind} {of}") for kind, of in OUTCOMES]
        path = f"{self._pipeline.at(self._pipeline.written.out)}/followed/batch={batch}"
        save(rows.observe(observation, *counts), self._form, {}, path, by=("kind",))
        found = {each: int(observation.get[f"{each[0]} {each[1]}"]) for each in OUTCOMES}
        if not any(found.values()):
            files_of(rows.sparkSession).remove(path)
        if any(found[each] for each in OUTCOMES if each[0] in DERIVED):
            self._sender(derived(restore(rows.sparkSession, path, self._form, rows.schema)), batch)
        self.moves.update(+Counter(found))
        told = {f"{kind} {outcome}".strip(): count for (kind, outcome), count in sorted(self.moves.items())}
        self._tell("followed", batch=batch, **told)


def derived(rows: DataFrame) -> DataFrame:
    """The commands, and the results that somebody waits for, as messages; a repeated batch gives them the same ids."""
    from pyspark.sql import functions as sf

    sent = (rows["kind"] == COMMAND) | ((rows["kind"] == RESULT) & rows["subject"].isNotNull())
    return rows.where(sent).select(*FIELDS, sf.lit("pointsman").alias("source"))
