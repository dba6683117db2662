"""The demo from its events to its result: the pipeline runs over them, and what it wrote is counted and checked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.demo import ENVIRONMENT
from pointsman.demo.check import Checked, check
from pointsman.demo.counts import Counts
from pointsman.demo.events import Summary
from pointsman.demo.folder import DemoFolder
from pointsman.demo.picture import draw_flow
from pointsman.demo.written import Written
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.run import run
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pointsman.pipeline.counts import Totals


class Played(NamedTuple):
    """The result of a demo."""

    folder: DemoFolder
    table: RoutingTable
    counts: Counts
    """Of what the pipeline wrote."""
    checked: Checked
    batches: int
    seconds: float
    """How long the pipeline ran."""


def play(
    folder: DemoFolder,
    summary: Summary,
    spark: SparkSession,
    tell: Callable[..., None],
    watch: Callable[[Totals, list[Any]], None] | None = None,
) -> Played | None:
    """Runs the pipeline as ``pointsman run`` does, counts and checks what it wrote, and draws the picture.

    Returns None if it was stopped before its end. Raises as ``run``. The session is left open.
    """
    started = time.monotonic()
    totals = run(PipelineFile.load(folder.pipeline), tell, spark=spark, watch=watch)
    seconds = time.monotonic() - started
    if totals.messages < summary.messages:
        return None
    tell("checking")
    table = RoutingTable.load(folder.table, ENVIRONMENT)
    written = Written(folder)
    counts = written.counts()
    draw_flow(counts, folder.picture)
    return Played(folder, table, counts, check(summary.files, table, written, counts), totals.batches, seconds)
