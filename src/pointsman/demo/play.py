"""The demo from nothing to its end: events, a pipeline that runs over them, and what came of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.columns.stretches import COUNTED
from pointsman.demo import ENVIRONMENT
from pointsman.demo.counting import count_written
from pointsman.demo.counts import Counts
from pointsman.demo.events import ORDERS, SEED, Summary, make_events
from pointsman.demo.expected import decide_all
from pointsman.demo.outcomes import Outage
from pointsman.demo.picture import draw_flow
from pointsman.demo.place import FILES_PER_BATCH, Place, prepare
from pointsman.demo.reading import subjects_of
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.run import run
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pointsman.pipeline.counts import Totals

AWAY = Outage("warehouse", -math.inf, math.inf)


class Played(NamedTuple):
    """What came of a demo."""

    place: Place
    summary: Summary
    table: RoutingTable
    counts: Counts
    """By the files that the pipeline has written."""
    differences: list[str]
    """From what ``RoutingTable.decide`` comes to, message after message in this process; nothing, if all is well."""
    batches: int
    seconds: float
    """That the pipeline ran."""


def prepare_hour(folder: Path, *, orders: int = ORDERS, seed: int = SEED) -> tuple[Place, Summary]:
    """The folder with everything that the pipeline needs. Raises as ``prepare`` and ``make_events``."""
    place = prepare(folder)
    return place, make_events(place.events, orders=orders, seed=seed)


def play(
    place: Place,
    summary: Summary,
    spark: SparkSession,
    tell: Callable[..., None],
    watch: Callable[[Totals, list[Any]], None] | None = None,
) -> Played | None:
    """Runs the pipeline of the demo as ``pointsman run`` does, counts what it wrote, and draws the flow picture.

    None if it was told to stop before it was at its end. Raises as ``run``. The session is not ended.
    """
    started = time.monotonic()
    totals = run(PipelineFile.load(place.pipeline), tell, spark=spark, watch=watch)
    seconds = time.monotonic() - started
    if totals.messages < summary.messages:
        return None
    tell("checking")
    table = RoutingTable.load(place.table, ENVIRONMENT)
    counts = count_written(place, subjects_of(place.events))
    expected = expect(place, table)
    draw_flow(counts, place.picture)
    tolerance = 2 * totals.batches * spark.sparkContext.defaultParallelism
    differences = expected.differences(counts, shared=shared_routes(table), tolerance=tolerance)
    return Played(place, summary, table, counts, differences, totals.batches, seconds)


def shared_routes(table: RoutingTable) -> list[str]:
    """Routes whose balance counts: on Spark shares are exact to within one per partition and batch, two by weights."""
    return [route.name for route in table.routes if route.balance in COUNTED]


def expect(place: Place, table: RoutingTable) -> Counts:
    """What the pipeline must come to: the same batches, and the same warehouse that is away."""
    return decide_all(place.events, table, files_per_batch=FILES_PER_BATCH, outages=[AWAY])
