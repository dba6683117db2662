"""What is measured: each job several times, the jobs taking turns, the quickest round of each kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from benchmarks.pipeline import by_hand, shop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Tell = Callable[[str], object]
OURS, BY_HAND, IDENTITY = "pointsman", "by hand", "identity mapInArrow"
FORMS = ("parquet", "json")


@dataclass(frozen=True, slots=True)
class Row:
    """How long a job took at best, and what came of it."""

    part: str
    what: str
    """Which messages and which table."""
    who: str
    messages: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    messages: int
    turns: int
    routes: Sequence[int]
    batches: int


FULL = Size(1_000_000, 5, (9, 100, 10_000, 100_000), 20)
QUICK = Size(100_000, 2, (9, 100, 10_000), 6)


class Job:
    """Something to be run again and again."""

    def __init__(self, part: str, what: str, who: str, messages: int, work: Callable[[], int]) -> None:
        self.part, self.what, self.who, self.messages, self.work = part, what, who, messages, work

    def __str__(self) -> str:
        return f"{self.part}, {self.what}, {self.who}"


def best_of(jobs: Sequence[Job], turns: int, tell: Tell, clock: Callable[[], float] = perf_counter) -> Iterator[Row]:
    """A row for each job; they take turns, so that a busy moment of the machine is one for all of them."""
    best: dict[Job, float] = {}
    rows: dict[Job, int] = {}
    for turn in range(turns + 1):
        for job in jobs:
            tell(f"{job}: {f'round {turn} of {turns}' if turn else 'warming up'}")
            started = clock()
            rows[job] = job.work()
            if turn:
                best[job] = min(best.get(job, float("inf")), clock() - started)
    for job, seconds in best.items():
        yield Row(job.part, job.what, job.who, job.messages, rows[job], seconds)


def columns(size: Size, tell: Tell) -> Iterator[Row]:
    """``columns.route`` alone, on one core and without Spark, in CPU time."""
    import pyarrow as pa

    from pointsman.columns import route

    pa.set_cpu_count(1)
    table = shop.RoutingTable.from_plain(
        shop.plain(9) | {"routes": [each for each in shop.NINE if "body" not in each.get("when", "")]}
    )
    jobs = []
    for name, distinct in (("repeated", False), ("distinct", True)):
        messages = shop.messages(size.messages, distinct=distinct)
        jobs.append(Job("columns", name, OURS, size.messages, lambda m=messages: len(route(m, table).deliveries)))  # type: ignore[misc]
    yield from best_of(jobs, size.turns, tell, process_time)


def route(spark: SparkSession, folder: Path, size: Size, tell: Tell) -> Iterator[Row]:
    """``route`` on a folder, into Spark's ``noop`` sink, which asks for every column of every row and keeps none."""
    from pointsman.pipeline import route as routed

    def job(what: str, who: str, made: DataFrame) -> Job:
        rows = made.count()

        def work() -> int:
            made.write.format("noop").mode("overwrite").save()
            return rows

        return Job("route", what, who, size.messages, work)

    for form in FORMS:
        jobs = []
        for name in ("repeated", "distinct"):
            tell(f"route, {name}, {form}: making messages")
            source = str(folder / f"{name}-{form}")
            if not Path(source).exists():
                shop.write(shop.messages(size.messages, distinct=name == "distinct"), Path(source), form)
            body = "binary" if form == "parquet" else "string"
            read = spark.read.schema(by_hand.SCHEMA.replace("body string", f"body {body}")).format(form).load(source)
            jobs.append(job(f"{name}, {form}", IDENTITY, by_hand.identity(read)))
            jobs.append(job(f"{name}, {form}, 9 routes", BY_HAND, by_hand.route(read, shop.NINE)))
            for count in size.routes:
                table = shop.table(count)
                jobs.append(job(f"{name}, {form}, {count:,} routes", OURS, routed(read, table).rows))
        yield from best_of(jobs, size.turns, tell)
    read = spark.read.parquet(str(folder / "repeated-parquet"))
    hundred = job("repeated, parquet, 100 routes", BY_HAND, by_hand.route(read, shop.routes(100)))
    yield from best_of([hundred], 1, tell)


def agreement(spark: SparkSession, folder: Path, tell: Tell) -> None:
    """Raises ``AssertionError`` unless the job written by hand gives the rows that Pointsman gives."""
    from pointsman.pipeline import route as routed

    tell("comparing the rows of both")
    shop.write(shop.messages(20_000, seed=3), folder / "agreement", "parquet", 2)
    read = spark.read.parquet(str(folder / "agreement"))
    for count in (9, 100):
        ours = routed(read, shop.table(count)).rows.select("id", "route", "destination", "outcome").collect()
        theirs = by_hand.route(read, shop.routes(count)).select("id", "route", "destination", "outcome").collect()
        assert sorted(map(str, ours)) == sorted(map(str, theirs)), f"{count} routes: other rows"


def run(spark: SparkSession, folder: Path, size: Size, tell: Tell) -> Iterator[Row]:
    """``pointsman run`` and a ``foreachBatch`` job, each in the same session, from a folder to a folder of Parquet."""
    jobs = []
    for form in FORMS:
        source = folder / f"repeated-{form}"
        if not source.exists():
            tell(f"run, {form}: making messages")
            shop.write(shop.messages(size.messages), source, form)
        for who, work in _runners(spark, folder, source, form):
            jobs.append(Job("run", f"{form}, 9 routes", who, size.messages, partial(_rows_of, work)))
    yield from best_of(jobs, max(2, size.turns // 2), tell)


def _rows_of(work: Callable[[], list[Any]]) -> int:
    return sum(each["numInputRows"] for each in work())


def latency(spark: SparkSession, folder: Path, size: Size, tell: Tell) -> Iterator[Row]:
    """A batch of a thousand messages, from its trigger to its commit: the median of many, after the first two."""
    for form in FORMS:
        source = folder / f"thousands-{form}"
        shop.write(shop.messages(1_000 * size.batches), source, form, size.batches)
        best: dict[str, float] = {}
        for turn in range(3):
            for who, work in _runners(spark, folder, source, form, files=1):
                tell(f"latency, {form}, {who}: round {turn + 1} of 3")
                found = [each for each in work() if each["numInputRows"]]
                assert len(found) == size.batches, f"{who}: {len(found)} batches"
                middle = median(each["durationMs"]["triggerExecution"] / 1000 for each in found[2:])
                best[who] = min(best.get(who, middle), middle)
        for who, seconds in best.items():
            yield Row("latency", f"{form}, 9 routes", who, 1_000, 0, seconds)


def command(folder: Path, size: Size, tell: Tell) -> Iterator[Row]:
    """Ten messages from the command line to the end of the process."""
    from pointsman.pipeline.spark.java import find_java

    source = folder / "ten"
    shop.write(shop.messages(10), source, "json", 1)
    java = {**os.environ, "JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": "127.0.0.1"}
    hand, ours = folder / "ten-by-hand", _pipeline(folder / "ten-pointsman", source, "json", 0)
    script = [sys.executable, "-m", "benchmarks.pipeline.by_hand", str(source), "json", str(hand)]

    def started(words: list[str], out: Path) -> int:
        for made in (out / "out", out / "checkpoint", out / "deliveries"):
            rmtree(made, ignore_errors=True)
        subprocess.run(words, check=True, capture_output=True, env=java)
        return 0

    jobs = [
        Job("command", "10 messages", BY_HAND, 10, lambda: started(script, hand)),
        Job(
            "command",
            "10 messages",
            OURS,
            10,
            lambda: started([sys.executable, "-m", "pointsman", "run", str(ours)], ours.parent),
        ),
    ]
    yield from best_of(jobs, min(size.turns, 3), tell)


def _runners(
    spark: SparkSession, folder: Path, source: Path, form: str, files: int = 0
) -> list[tuple[str, Callable[[], list[Any]]]]:
    """The job by hand and ours, each into a folder that is emptied before; they give what Spark told of each batch."""
    from pointsman.pipeline.config import PipelineFile
    from pointsman.pipeline.run import run as run_pipeline

    def hand() -> list[Any]:
        out = folder / "out-by-hand"
        rmtree(out, ignore_errors=True)
        return list(by_hand.run(spark, str(source), form, str(out), shop.NINE, files).recentProgress)

    def ours() -> list[Any]:
        place = folder / "out-pointsman"
        rmtree(place, ignore_errors=True)
        pipeline = PipelineFile.load(_pipeline(place, source, form, files))
        seen: list[Any] = []
        run_pipeline(pipeline, lambda *_, **__: None, spark=spark, watch=lambda _, queries: seen.extend(queries))
        return list(seen[0].recentProgress)

    return [(BY_HAND, hand), (OURS, ours)]


def _pipeline(folder: Path, source: Path, form: str, files: int) -> Path:
    """The file of a pipeline, with its table beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.yaml").write_text(json.dumps(shop.plain(9)))
    options = {"maxFilesPerTrigger": files} if files else {}
    written = {
        "table": "table.yaml",
        "source": {"format": form, "path": str(source), "options": options},
        "format": "parquet",
        "master": "local[2]",
    }
    path = folder / "pipeline.yaml"
    path.write_text(json.dumps(written))
    return path
