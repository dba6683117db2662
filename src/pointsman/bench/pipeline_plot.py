"""A picture of the benchmark of the pipeline: messages a second of each stage, and keys a second."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pointsman.bench.pipeline_required import KEYS
from pointsman.bench.pipeline_rows import DISTINCT, REPEATED, ROWS, Row, StateRow
from pointsman.bench.plot import load_pyplot, save

COLOURS = {REPEATED: "C0", DISTINCT: "C1"}
HEIGHT = 0.38


def draw_pipeline(measured: Mapping[str, Sequence[Any]], path: Path) -> None:
    """Writes the picture as a PNG file. Raises as ``plot.draw``."""
    pyplot = load_pyplot()
    figure, (above, below) = pyplot.subplots(
        2, figsize=(12, 9), layout="constrained", gridspec_kw={"height_ratios": (5, 1)}
    )
    _draw_stages(above, [*measured["rows"], *measured["naive"]])
    _draw_state(below, measured["state"])
    for axes in (above, below):
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(which="major", axis="x", alpha=0.3)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    save(pyplot, figure, path)


def _draw_stages(axes: Any, rows: Sequence[Row]) -> None:
    """Two bars for each stage, and the rates of whole rows through Python as lines."""
    places = {name: place for place, name in enumerate(dict.fromkeys(map(_name, rows)))}
    for number, (stream, colour) in enumerate(COLOURS.items()):
        own = [row for row in rows if row.stream == stream]
        heights = [places[_name(row)] + (number - 0.5) * HEIGHT for row in own]
        label = f"{stream} subjects"
        axes.barh(heights, [row.messages_per_second for row in own], HEIGHT, color=colour, label=label)
        for row in own:
            if row.stage == ROWS:
                axes.axvline(row.messages_per_second, color=colour, linestyle="--", linewidth=1)
    axes.set_yticks([*places.values()], [*places])
    axes.set(title="The pipeline on two cores", xlabel="messages a second", xscale="log")
    axes.legend(fontsize=8)


def _draw_state(axes: Any, rows: Sequence[StateRow]) -> None:
    axes.barh([row.what for row in rows], [row.keys_per_second for row in rows], 2 * HEIGHT, color="C2")
    axes.axvline(KEYS, color="C3", linestyle="--")
    axes.set(xlabel="correlation ids a second; the line is what is asked for")


def _name(row: Row) -> str:
    return row.stage if row.subscriptions is None else f"{row.stage}, {row.subscriptions:,}"
