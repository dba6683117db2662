"""A picture of a benchmark: nanoseconds a message over the number of patterns, a line for each engine and stream."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pointsman.bench import match_rows, terms

STYLES = {"repeated": "-", "distinct": "--", "missing": ":"}
"""How the line of a stream is drawn; other streams are left out."""
GAP = 0.019
"""Between two labels, as a share of the height."""


class Line(NamedTuple):
    """What an engine takes for a stream, by size."""

    engine: str
    stream: str
    points: list[tuple[int, float]]


def match_lines(rows: Iterable[match_rows.Row]) -> list[Line]:
    """The lines of the benchmark of subjects."""
    return _lines((row.engine, row.stream, row.patterns, row.nanoseconds) for row in rows)


def term_lines(rows: Iterable[terms.Row]) -> list[Line]:
    """The lines of the benchmark of metadata conditions."""
    return _lines((row.engine, stream, row.matchers, getattr(row, stream)) for row in rows for stream in STYLES)


def _lines(values: Iterable[tuple[str, str, int, float]]) -> list[Line]:
    points: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    for engine, stream, size, nanoseconds in values:
        if stream in STYLES:
            points[engine, stream].append((size, nanoseconds))
    return [Line(*key, sorted(found)) for key, found in points.items()]


def check(path: Path) -> None:
    """Raises what ``draw`` would raise, before anything is measured."""
    load_pyplot()
    if path.suffix.lower() != ".png":
        raise InputError("bad-usage", f"a plot is a PNG file, and {path.name!r} does not end in .png")
    if not path.parent.is_dir():
        raise InputError("no-file", "cannot write it: there is no such directory", file=str(path))


def draw(lines: Sequence[Line], path: Path, title: str, things: str) -> None:
    """Writes the picture as a PNG file; ``things`` are what there are so many of.

    Raises ``MissingExtraError`` without matplotlib, and ``InputError`` when the file cannot be written.
    """
    pyplot = load_pyplot()
    figure, axes = pyplot.subplots(figsize=(11, 7.5), layout="constrained")
    colours = {engine: f"C{number}" for number, engine in enumerate(dict.fromkeys(line.engine for line in lines))}
    for line in lines:
        sizes, times = zip(*line.points, strict=True)
        axes.plot(sizes, times, STYLES[line.stream], color=colours[line.engine], marker="o", markersize=4)
    axes.set(
        xscale="log", yscale="log", title=title, xlabel=things, ylabel="nanoseconds a message (CPU, best of several)"
    )
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(which="major", alpha=0.3)
    _label(axes, lines, colours)
    save(pyplot, figure, path)


def save(pyplot: Any, figure: Any, path: Path) -> None:
    """Writes a figure as a PNG file, and closes it. Raises ``InputError`` when the file cannot be written."""
    try:
        figure.savefig(path, dpi=120, format="png")
    except OSError as error:
        raise InputError("no-file", f"cannot write it: {error}", file=str(path)) from None
    finally:
        pyplot.close(figure)


def _label(axes: Any, lines: Sequence[Line], colours: dict[str, str]) -> None:
    """Names each line at its right end; names that would cover each other move up."""
    low, high = map(math.log, axes.get_ylim())
    lowest: dict[int, float] = {}
    for line in sorted(lines, key=lambda line: line.points[-1][1]):
        size, nanoseconds = line.points[-1]
        height = max((math.log(nanoseconds) - low) / (high - low), lowest.get(size, 0.0))
        lowest[size] = height + GAP
        axes.annotate(
            f"{line.engine}, {line.stream}",
            (size, math.exp(low + height * (high - low))),
            xytext=(8, 0),
            textcoords="offset points",
            color=colours[line.engine],
            fontsize=8,
            verticalalignment="center",
            annotation_clip=False,
        )


def load_pyplot() -> Any:
    """The pyplot of matplotlib, for files. Raises ``MissingExtraError`` without it."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("bench", "matplotlib") from None
    # No screen is needed.
    mpl.use("agg")
    from matplotlib import pyplot

    return pyplot
