"""A picture of the benchmark of wildcard subscriptions: messages a second over the number of subscriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pointsman.bench.plot import load_pyplot, save
from pointsman.bench.subscriptions_rows import JOIN, LOOP, Row

NAIVE = (LOOP, JOIN)


def draw_subscriptions(measured: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Writes the picture as a PNG file. Raises as ``plot.draw``."""
    rows: Sequence[Row] = measured["rows"]
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(10, 6.5), layout="constrained")
    for way in dict.fromkeys(row.way for row in rows):
        own = sorted((row.subscriptions, row.messages_per_second) for row in rows if row.way == way)
        sizes, rates = zip(*own, strict=True)
        axes.plot(sizes, rates, "--" if way in NAIVE else "-", marker="o", label=way)
    axes.set(
        xscale="log",
        yscale="log",
        title="From a message to the wildcard subscriptions that it reaches",
        xlabel="subscriptions",
        ylabel="messages a second",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(which="major", alpha=0.3)
    axes.legend(fontsize=9)
    save(pyplot, figure, path)
