"""Wildcard subscriptions by the million: how the rate of messages falls as their number grows.

The ways are the column form in one process, ``pipeline.resolve`` on Spark with two cores, and the live form, as the
embedded broker has it; beside them a loop over all conditions in Python, and a cross join with ``rlike`` on Spark, as
far as they can bear it. All must count the same matches for the same messages, or the run fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pointsman.bench.pipeline_cells import measure
from pointsman.bench.subscriptions_data import SUBJECT, Data, make_data
from pointsman.bench.subscriptions_files import FileRow, measure_files
from pointsman.bench.subscriptions_live import QUEUE, measure_live
from pointsman.bench.subscriptions_peers import cross_join, loop
from pointsman.bench.subscriptions_required import required
from pointsman.bench.subscriptions_rows import COLUMNS, JOIN, LOOP, SPARK, Row
from pointsman.bench.timing import microseconds
from pointsman.pipeline.spark.session import local_session
from pointsman.pipeline.subscriptions.compiled import compile_subscriptions
from pointsman.pipeline.subscriptions.resolve import resolve_subscriptions
from pointsman.subscriptions.columns import SubscriptionIndex

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Progress = Callable[[str], object]
MASTER = "local[2]"
SETTINGS = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "2g"}
FILES = 8


class Plan(NamedTuple):
    """How much is measured."""

    sizes: Sequence[int]
    """Numbers of subscriptions."""
    messages: int
    """That are made, and sent through the column form."""
    repeated: int
    """How many times Spark gets them, so that it has something to do."""
    live: int
    """Messages for the live form."""
    turns: int
    loop: int
    """Pairs of a message and a subscription that the loop can bear."""
    join: int
    """Those that the join can bear."""
    peers: int
    """Subscriptions that the peers get at most."""
    warm: bool = True
    """Whether Spark does a little of everything before it is measured."""


FULL = Plan((10_000, 100_000, 1_000_000), 20_000, 10, 2_000, 3, 2_000_000, 500_000, 100_000)
QUICK = Plan((10_000, 100_000), 5_000, 8, 300, 2, 300_000, 500_000, 10_000)


def run(quick: bool, progress: Progress = lambda _: None) -> dict[str, Sequence[Any]]:
    """The measurements and what must hold; ``progress`` is told what comes next.

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
    rows: list[Row] = []
    files: list[FileRow] = []
    if plan.warm:
        progress("warming up")
        with TemporaryDirectory(prefix="pointsman-bench-") as name:
            _on_spark(plan._replace(turns=1, repeated=1), spark, make_data(200, 1_000), Path(name))
    for size in plan.sizes:
        progress(f"{size:,} subscriptions: making them")
        data = make_data(size, plan.messages)
        with TemporaryDirectory(prefix="pointsman-bench-") as name:
            rows += _rows(plan, spark, data, Path(name), progress)
            progress(f"{size:,} subscriptions: exporting and importing them")
            files += measure_files(Path(name) / QUEUE, Path(name))
    return {"rows": rows, "files": files, "required": required(rows, files)}


def _rows(plan: Plan, spark: SparkSession, data: Data, folder: Path, progress: Progress) -> Iterator[Row]:
    size = data.table.num_rows
    progress(f"{size:,} subscriptions: {COLUMNS}")
    index, seconds = _built(data)
    metadata = data.metadata
    matches = _pairs(index, metadata)
    spent = min(microseconds(partial(_pairs, index, metadata)) for _ in range(plan.turns)) / 1e6
    yield Row(COLUMNS, size, plan.messages, matches, spent, seconds, index.nbytes)
    progress(f"{size:,} subscriptions: {SPARK}")
    yield _as_many(_on_spark(plan, spark, data, folder), matches * plan.repeated)
    progress(f"{size:,} subscriptions: the live form")
    few = data.messages[: plan.live]
    yield _checked(measure_live(data.table, few, folder, progress), index, few)
    if size > plan.peers:
        return
    few = data.messages[: max(1, plan.loop // size)]
    progress(f"{size:,} subscriptions: {LOOP}, {len(few):,} messages")
    count = loop(data.table)
    started = process_time()
    found = count(few)
    yield _checked(Row(LOOP, size, len(few), found, process_time() - started, None, None), index, few)
    few = data.messages[: max(1, plan.join // size)]
    progress(f"{size:,} subscriptions: {JOIN}, {len(few):,} messages")
    joined = cross_join(spark, data.table)(_frame(spark, few, folder / "few", 1))
    found, (seconds, _) = joined.count(), measure(joined)
    yield _checked(Row(JOIN, size, len(few), found, seconds, None, None), index, few)


def _on_spark(plan: Plan, spark: SparkSession, data: Data, folder: Path) -> Row:
    messages = _frame(spark, data.messages, folder / "messages", plan.repeated)
    pq.write_table(data.table, folder / "subscriptions.parquet")
    started = perf_counter()
    subscriptions = compile_subscriptions(spark.read.parquet(str(folder / "subscriptions.parquet")), folder=folder)
    built = perf_counter() - started
    resolved = resolve_subscriptions(messages, subscriptions)
    found = resolved.count()
    rounds = [measure(resolved) for _ in range(plan.turns)]
    seconds = min(wall for wall, _ in rounds)
    spent = min((cpu for _, cpu in rounds if cpu is not None), default=None)
    count = len(data.messages) * plan.repeated
    size, how = subscriptions.count, f"{subscriptions.mode}: {subscriptions.why}"
    return Row(SPARK, size, count, found, seconds, built, subscriptions.file_bytes, spent, how)


def _frame(spark: SparkSession, messages: Sequence[Any], folder: Path, times: int) -> DataFrame:
    """The messages from files, so many times over."""
    from pointsman.bench.terms_data import METADATA

    folder.mkdir()
    for number in range(FILES):
        own = list(messages[number::FILES]) * times
        columns = {"subject": pa.array([SUBJECT] * len(own)), "metadata": pa.array(own, METADATA)}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
    return spark.read.parquet(str(folder))


def _built(data: Data) -> tuple[SubscriptionIndex, float]:
    SubscriptionIndex.build(data.table.slice(0, 10))
    started = process_time()
    return SubscriptionIndex.build(data.table), process_time() - started


def _pairs(index: SubscriptionIndex, metadata: Any) -> int:
    return sum(batch.num_rows for batch in index.match_batches(None, metadata))


def _checked(row: Row, index: SubscriptionIndex, messages: Sequence[Any]) -> Row:
    from pointsman.bench.terms_data import METADATA

    return _as_many(row, _pairs(index, pa.array(messages, METADATA)))


def _as_many(row: Row, expected: int) -> Row:
    if row.matches != expected:
        raise AssertionError(f"{row.way} finds {row.matches} matches and not {expected}")
    return row
