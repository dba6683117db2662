"""Stages that take turns on the same messages: how many of them a second, the best of several rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from pointsman.bench.pipeline_rows import Row
from pointsman.bench.pipeline_stages import Stage
from pointsman.bench.processes import cpu_between, cpu_seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Progress = Callable[[str], object]


class Cell(NamedTuple):
    """A stage on the messages of a stream, ready to be run again and again."""

    stage: Stage
    stream: str
    messages: int
    made: DataFrame
    rows_out: int

    def __str__(self) -> str:
        known = "" if self.stage.subscriptions is None else f", {self.stage.subscriptions:,} subscriptions"
        return f"{self.stage.name}{known}, {self.stream}"

    def measure(self) -> Row:
        """One round."""
        seconds, spent = measure(self.made)
        return Row(self.stage.name, self.stage.subscriptions, self.stream, self.messages, self.rows_out, seconds, spent)


def make_cell(spark: SparkSession, stage: Stage, stream: str, folder: Path, progress: Progress) -> Cell:
    """The stage on the messages of a folder, after it has run once."""
    messages = spark.read.parquet(str(folder))
    made = stage.make(messages)
    progress(f"{stage.name}, {stream}: warming up")
    rows_out = made.count()
    return Cell(stage, stream, messages.count(), made, rows_out)


def run_cells(cells: Sequence[Cell], turns: int, progress: Progress) -> list[Row]:
    """The best of each cell; they take turns, so that when the machine is busy for a while, it is so for all."""
    best: dict[int, Row] = {}
    for turn in range(turns):
        for number, cell in enumerate(cells):
            progress(f"turn {turn + 1} of {turns}: {cell}")
            best[number] = _better(best.get(number), cell.measure())
    return [*best.values()]


def measure(made: DataFrame) -> tuple[float, float | None]:
    """The seconds by the wall clock and of CPU time that it takes to work out all columns of all rows."""
    before, started = cpu_seconds(), perf_counter()
    made.write.format("noop").mode("overwrite").save()
    seconds = perf_counter() - started
    return seconds, cpu_between(before, cpu_seconds())


def _better(known: Row | None, found: Row) -> Row:
    if known is None:
        return found
    spent = [each.cpu_seconds for each in (known, found) if each.cpu_seconds is not None]
    return replace(known, seconds=min(known.seconds, found.seconds), cpu_seconds=min(spent, default=None))
