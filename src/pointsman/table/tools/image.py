"""Graphs as pictures, drawn by matplotlib without a browser."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pointsman.table.tools.graph import Box, Graph, Line

FORMATS = ("svg", "png")
FILL = {
    "pattern": "#eef4fb",
    "translation": "#fdf3dc",
    "route": "#e7f4ea",
    "destination": "#f3ecf9",
    "state": "#e7f4ea",
    "final": "#d4dde6",
    "start": "#eef4fb",
}
LONGEST = 44
"""Characters of a line of text; a longer one is cut."""
CHARACTER, LABEL, LINE, BETWEEN = 0.075, 0.055, 0.19, 1.9
"""In inches: the width of a character and of one in a label, the height of a line, the gap between columns."""
LARGEST = 300.0
"""Inches; a larger picture is refused."""

Rectangle = tuple[float, float, float, float]


def draw(graph: Graph, path: Path) -> None:
    """Writes the picture as an SVG or PNG file, by the ending of its name.

    Raises ``MissingExtraError`` without matplotlib, and ``InputError`` for another ending (``bad-usage``) or a file
    that cannot be written (``no-file``).
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError("bad-usage", f"a picture is an .svg or .png file, and {path.name!r} is neither")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("bench", "matplotlib") from None

    places, width, height = lay_out(graph)
    if max(width, height) > LARGEST:
        raise InputError("bad-usage", f"the picture would be {max(width, height):.0f} inches large; show fewer routes")
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    _draw_lines(axes, graph, places)
    for key, box in graph.boxes.items():
        _draw_box(axes, box, places[key])
    # Text stays text, and the same graph gives the same file.
    settings: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "pointsman"}
    metadata = {"Date": None} if kind == "svg" else {}
    try:
        with mpl.rc_context(settings), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")
            figure.savefig(path, format=kind, dpi=120, metadata=metadata)
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None


def lay_out(graph: Graph) -> tuple[dict[str, Rectangle], float, float]:
    """Where each box stands (left, bottom, width, height), and the width and height of the picture.

    Boxes of a column stand below each other, each near the middle of those that lead to it, and do not overlap.
    """
    columns: dict[int, list[Box]] = {}
    for box in graph.boxes.values():
        columns.setdefault(box.column, []).append(box)
    labels = max((len(line.label) for line in graph.lines), default=0)
    between = max(BETWEEN, min(labels, LONGEST) * LABEL + 0.4)
    gap = 0.16 if labels < 12 else 0.6
    heights = {column: sum(_height(box) + gap for box in boxes) for column, boxes in columns.items()}
    total = max(heights.values(), default=0.0) + 2 * gap
    places: dict[str, Rectangle] = {}
    left = gap
    for column in sorted(columns):
        width = max(_width(box) for box in columns[column])
        ordered = sorted(columns[column], key=lambda box: -_wish(box, graph, places, total))
        # What is left of the height is shared between the boxes.
        spare = (total - gap - heights[column]) / len(ordered)
        top = total - gap - spare / 2
        for box in ordered:
            places[box.key] = (left, top - _height(box), width, _height(box))
            top -= _height(box) + gap + spare
        left += width + between
    return places, max(left - between + gap + 1.0, 2.0), max(total, 1.0)


def _wish(box: Box, graph: Graph, places: dict[str, Rectangle], total: float) -> float:
    """The mean height of the boxes that lead to it."""
    found = [places[line.start][1] for line in graph.lines if line.end == box.key and line.start in places]
    return sum(found) / len(found) if found else total


def _height(box: Box) -> float:
    return LINE * len(box.lines) + 0.14


def _width(box: Box) -> float:
    return CHARACTER * max(len(_cut(line)) for line in box.lines) + 0.3


def _cut(text: str) -> str:
    shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def _draw_box(axes: Any, box: Box, place: Rectangle) -> None:
    from matplotlib.patches import FancyBboxPatch

    left, bottom, width, height = place
    axes.add_patch(
        FancyBboxPatch(
            (left, bottom),
            width,
            height,
            "round,pad=0,rounding_size=0.08",
            facecolor=FILL[box.shape],
            edgecolor="#5c6b7a",
        )
    )
    for number, line in enumerate(box.lines):
        y = bottom + height - 0.07 - LINE * (number + 0.5)
        # A text with dollar signs is no formula here.
        style: dict[str, Any] = {"ha": "center", "va": "center", "parse_math": False, "family": "DejaVu Sans"}
        axes.text(left + width / 2, y, _cut(line), fontsize=8 if number == 0 else 7, **style)


def _draw_lines(axes: Any, graph: Graph, places: dict[str, Rectangle]) -> None:
    """One arrow from a box to another one, with all that leads that way written at it."""
    together: dict[tuple[str, str], list[Line]] = {}
    for line in graph.lines:
        together.setdefault((line.start, line.end), []).append(line)
    for (start, end), lines in together.items():
        labels = [_cut(line.label) for line in lines if line.label]
        _draw_arrow(axes, places[start], places[end], labels, dashed=all(line.dashed for line in lines))


def _draw_arrow(axes: Any, start: Rectangle, end: Rectangle, labels: list[str], *, dashed: bool) -> None:
    from matplotlib.patches import FancyArrowPatch

    column = start[0] == end[0]
    backward = end[0] < start[0]
    begin = (start[0] if backward else start[0] + start[2], start[1] + start[3] / 2)
    goal = (end[0] + end[2] if backward or column else end[0], end[1] + end[3] / 2)
    if start == end:
        begin, goal = (begin[0], begin[1] + 0.1), (goal[0], goal[1] - 0.1)
    bend = -1.2 if start == end else 0.4 if column else 0.0
    axes.add_patch(
        FancyArrowPatch(
            begin,
            goal,
            arrowstyle="-|>",
            mutation_scale=8,
            connectionstyle=f"arc3,rad={bend}",
            linestyle="--" if dashed else "-",
            color="#5c6b7a",
            shrinkA=0,
            shrinkB=0,
        )
    )
    if labels:
        x, y = (begin[0] + goal[0]) / 2 + (0.25 if column else 0.0), (begin[1] + goal[1]) / 2
        style: dict[str, Any] = {"ha": "left" if column else "center", "va": "center", "parse_math": False}
        shade = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        axes.text(x, y, "\n".join(labels), fontsize=6, color="#33414f", bbox=shade, **style)
