"""A picture of the benchmark of the queue: messages a second in the main cells, and pops by pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pointsman.bench.plot import load_pyplot, save
from pointsman.bench.queue_contenders import OURS_NEXT
from pointsman.bench.queue_patterns import AD_HOC, DURABLE, INDEX
from pointsman.bench.queue_required import AD_HOC_MILLISECONDS, DURABLE_MILLISECONDS
from pointsman.bench.queue_rows import ZIPF, PatternRow, Row

LIMITS = {DURABLE: DURABLE_MILLISECONDS, AD_HOC: AD_HOC_MILLISECONDS}
WIDTH = 0.8
"""Of the bars of a group, together."""


def draw_queue(measured: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Writes the picture as a PNG file. Raises as ``plot.draw``."""
    pyplot = load_pyplot()
    figure, (above, below) = pyplot.subplots(2, figsize=(13, 10), layout="constrained")
    for axes, draw in ((above, _draw_cells), (below, _draw_patterns)):
        axes.set_yscale("log")
        draw(axes, measured)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(which="major", axis="y", alpha=0.3)
        axes.legend(fontsize=8, ncols=4, loc="upper left")
        axes.margins(y=0.25)
    save(pyplot, figure, path)


def _draw_cells(axes: Any, measured: Mapping[str, Sequence[Any]]) -> None:
    """The cells of one process at full durability, with a bar for each contender."""
    rows: Sequence[Row] = measured["rows"]
    shown = [row for row in rows if row.durability == "full" and row.processes == 1 and row.keys == ZIPF]
    cells = [*dict.fromkeys(row.cell for row in shown)]
    contenders = {
        row.contender: row.contender if row.acknowledges else f"{row.contender} (pop deletes)"
        for row in shown
        if row.contender != OURS_NEXT
    }
    speeds = {(row.contender, row.cell): row.messages_per_second or 0.0 for row in shown}
    _bars(
        axes,
        [f"{cell.operation} x{cell.batch}" for cell in cells],
        {label: [speeds[name, cell] for cell in cells] for name, label in contenders.items()},
    )
    axes.set(title="Messages a second, durability full, one process", ylabel="messages a second")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _draw_patterns(axes: Any, measured: Mapping[str, Sequence[Any]]) -> None:
    """The 99th percentile of each shape, and what it must stay under."""
    rows: Sequence[PatternRow] = measured["patterns"]
    shown = [row for row in rows if row.shape != INDEX]
    shapes = [*dict.fromkeys(row.shape for row in shown)]
    times = {(row.how, row.shape): row.cpu_p99 for row in shown}
    _bars(axes, shapes, {how: [times[how, shape] for shape in shapes] for how in LIMITS})
    for number, (how, limit) in enumerate(LIMITS.items()):
        axes.axhline(limit, color=f"C{number}", linestyle="--", label=f"limit, {how}")
    stored = max((row.stored for row in shown), default=0)
    axes.set(title=f"Pop by pattern with {stored:,} messages stored", ylabel="CPU time p99, milliseconds")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _bars(axes: Any, groups: Sequence[str], values: Mapping[str, Sequence[float]]) -> None:
    """A group of bars for each name of ``groups``; what was not measured has none."""
    width = WIDTH / len(values)
    for number, (name, heights) in enumerate(values.items()):
        left = (number - (len(values) - 1) / 2) * width
        axes.bar([place + left for place in range(len(groups))], heights, width * 0.9, label=name, color=f"C{number}")
    axes.set_xticks(range(len(groups)), groups)
