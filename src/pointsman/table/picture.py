"""Graphs as pictures, drawn by matplotlib without a browser."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pointsman.table.graph import Box, Graph, Line

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
CHARACTER, LINE, GAP, BETWEEN = 0.075, 0.19, 0.16, 1.9
"""In inches: the width of a character, the height of a line, the gaps between boxes and between columns."""
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
    for line in graph.lines:
        _draw_line(axes, line, places)
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
    heights = {column: sum(_height(box) + GAP for box in boxes) for column, boxes in columns.items()}
    total = max(heights.values(), default=0.0) + 2 * GAP
    places: dict[str, Rectangle] = {}
    left = GAP
    for column in sorted(columns):
        width = max(_width(box) for box in columns[column])
        ordered = sorted(columns[column], key=lambda box: -_wish(box, graph, places, total))
        # What is left of the height is shared between the boxes.
        spare = (total - GAP - heights[column]) / len(ordered)
        top = total - GAP - spare / 2
        for box in ordered:
            places[box.key] = (left, top - _height(box), width, _height(box))
            top -= _height(box) + GAP + spare
        left += width + BETWEEN
    return places, max(left - BETWEEN + GAP, 2.0), max(total, 1.0)


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


def _draw_line(axes: Any, line: Line, places: dict[str, Rectangle]) -> None:
    from matplotlib.patches import FancyArrowPatch

    start, end = places[line.start], places[line.end]
    forward = end[0] > start[0]
    begin = (start[0] + start[2], start[1] + start[3] / 2)
    goal = (end[0] if forward else end[0] + end[2], end[1] + end[3] / 2 + (0.0 if forward else 0.05))
    bend = "arc3,rad=0" if forward else "arc3,rad=0.4"
    style = "--" if line.dashed else "-"
    axes.add_patch(
        FancyArrowPatch(
            begin, goal, arrowstyle="-|>", mutation_scale=8, connectionstyle=bend, linestyle=style, color="#5c6b7a"
        )
    )
    if line.label:
        middle = (begin[0] * 0.5 + goal[0] * 0.5, begin[1] * 0.5 + goal[1] * 0.5)
        text: dict[str, Any] = {"ha": "center", "va": "bottom", "parse_math": False, "fontsize": 6, "color": "#33414f"}
        axes.text(middle[0] + (0 if forward else 0.3), middle[1], _cut(line.label), **text)
