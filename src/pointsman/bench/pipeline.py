"""The pipeline on Spark, on two cores: its stages beside what Spark itself does with the same messages, in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.bench.pipeline_cells import make_cell, run_cells
from pointsman.bench.pipeline_data import subscription_patterns, write_messages
from pointsman.bench.pipeline_required import required
from pointsman.bench.pipeline_rows import DISTINCT, GATHERINGS, REPEATED, SAGAS, Row, StateRow, StreamRow
from pointsman.bench.pipeline_stages import Stage, naive_stage, plain_stages, resolve_stage, route_stage
from pointsman.bench.pipeline_state import StatePlan, run_state
from pointsman.bench.pipeline_stream import Batches, run_stream
from pointsman.bench.subjects import Texts, streams
from pointsman.pipeline.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], object]
MASTER = "local[2]"
SETTINGS = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "4g"}
NAIVE_FILES = 2


class Plan(NamedTuple):
    """How much is measured."""

    messages: int
    sizes: Sequence[int]
    """Numbers of subscriptions."""
    routes: Sequence[int]
    """Numbers of routes."""
    turns: int
    """Rounds of each stage."""
    route_turns: int
    """Those of ``route``, which takes ten times as long."""
    naive: Sequence[tuple[int, int]]
    """Numbers of patterns, and of messages that the naive join can bear with them."""
    streamed: int
    """Subscriptions and routes of the streams."""
    streams: Sequence[Batches]
    state: StatePlan


FULL = Plan(
    1_000_000,
    (1_000, 10_000, 100_000, 1_000_000),
    (1_000, 100_000),
    10,
    3,
    ((1_000, 20_000), (10_000, 2_000)),
    100_000,
    (Batches(1_000, 15), Batches(50_000, 12)),
    StatePlan(100_000, 8),
)
QUICK = Plan(
    300_000,
    (1_000, 10_000, 100_000),
    (1_000,),
    3,
    2,
    ((10_000, 400),),
    1_000,
    (Batches(1_000, 6), Batches(20_000, 6)),
    StatePlan(40_000, 5),
)


def run(quick: bool, progress: Progress = lambda _: None) -> dict[str, Sequence[Any]]:
    """The measurements by what they are about; ``progress`` is told what comes next.

    Files are made in the directory for temporary ones and deleted at the end. Raises ``MissingExtraError``, and
    ``PointsmanError`` (``no-java``).
    """
    progress("starting Spark")
    spark = local_session("pointsman bench", MASTER, **SETTINGS)
    try:
        return run_plan(QUICK if quick else FULL, spark, progress)
    finally:
        spark.stop()


def run_plan(plan: Plan, spark: SparkSession, progress: Progress = lambda _: None) -> dict[str, Sequence[Any]]:
    """The measurements of a plan."""
    with TemporaryDirectory(prefix="pointsman-bench-") as name:
        folder = Path(name)
        progress("making messages")
        messages = streams(plan.messages)
        for stream in (REPEATED, DISTINCT):
            write_messages(folder / stream, getattr(messages, stream))
        plain = [*_stages(plan, spark, messages.repeated, progress)]
        routing = [*_routing(plan, messages.repeated, progress)]
        rows: list[Row] = []
        for stages, turns in ((plain, plan.turns), (routing, plan.route_turns)):
            # One stream after the other: workers remember subjects, of which all distinct ones leave nothing.
            for stream in (REPEATED, DISTINCT):
                cells = [make_cell(spark, stage, stream, folder / stream, progress) for stage in stages]
                rows += run_cells(cells, turns, progress)
        places = {(stage.name, stage.subscriptions): place for place, stage in enumerate([*plain, *routing])}
        rows.sort(key=lambda row: places[row.stage, row.subscriptions])
        measured: dict[str, Sequence[Any]] = {"rows": rows}
        measured["naive"] = [*_naive(plan, spark, folder, messages.repeated, progress)]
        measured["streams"] = [*_streams(plan, spark, folder, messages.repeated, progress)]
        measured["state"] = [*_state(plan, spark, folder, progress)]
    measured["required"] = required(measured)
    return measured


def _stages(plan: Plan, spark: SparkSession, subjects: Texts, progress: Progress) -> Iterator[Stage]:
    yield from plain_stages()
    for size in plan.sizes:
        progress(f"{size:,} subscriptions: making them")
        yield resolve_stage(spark, subscription_patterns(size, subjects))


def _routing(plan: Plan, subjects: Texts, progress: Progress) -> Iterator[Stage]:
    for size in plan.routes:
        progress(f"{size:,} routes: making them")
        yield route_stage(subscription_patterns(size, subjects))


def _naive(plan: Plan, spark: SparkSession, folder: Path, subjects: Texts, progress: Progress) -> Iterator[Row]:
    for size, count in plan.naive:
        place = folder / f"naive-{size}"
        write_messages(place, subjects.slice(0, count), NAIVE_FILES)
        stage = naive_stage(spark, subscription_patterns(size, subjects))
        yield from run_cells([make_cell(spark, stage, REPEATED, place, progress)], 1, progress)


def _streams(plan: Plan, spark: SparkSession, folder: Path, subjects: Texts, progress: Progress) -> Iterator[StreamRow]:
    patterns = subscription_patterns(plan.streamed, subjects)
    for stage in (resolve_stage(spark, patterns), route_stage(patterns)):
        for size in plan.streams:
            progress(f"{stage.name}, a stream: {size.batches} batches of {size.batch:,} messages")
            yield run_stream(spark, stage, folder / f"{stage.name}-{size.batch}", subjects, size)


def _state(plan: Plan, spark: SparkSession, folder: Path, progress: Progress) -> Iterator[StateRow]:
    for what in (SAGAS, GATHERINGS):
        progress(f"{what}: {plan.state.batches} batches of {plan.state.keys:,} correlation ids")
        yield run_state(spark, what, folder / what, plan.state)
