"""The flow picture as a PNG file, drawn by matplotlib from the same layout as the SVG."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from pointsman.demo.flow import HEIGHT, NODE, WIDTH, Band, Layout, Node
from pointsman.demo.picture import (
    GREY,
    HEADINGS,
    NOTE,
    RED,
    colour_of,
    heading_places,
    label_place,
    node_colour,
    node_label,
    opacity_of,
    painted,
)
from pointsman.errors import MissingExtraError

DOTS = 100
"""Pixels to the inch."""
POINT = 72 / DOTS
"""Points to the pixel, by which matplotlib measures lines and letters."""
SIDES = {"start": "left", "end": "right"}


def write_png(layout: Layout, title: str, path: Path) -> None:
    """Writes the picture. Raises ``MissingExtraError`` without matplotlib, and ``OSError``."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("bench", "matplotlib") from None
    figure = Figure(figsize=(WIDTH / DOTS, HEIGHT / DOTS))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
    axes.axis("off")
    _write(axes, 24, 28, title, size=17, weight="bold")
    for heading, (x, anchor) in zip(HEADINGS, heading_places(), strict=True):
        _write(axes, x, 54, heading, anchor=anchor, color=GREY)
    _write(axes, 24, HEIGHT - 16, NOTE, color=GREY)
    for band in painted(layout):
        _draw_band(axes, band, layout)
    for node in layout.nodes:
        _draw_node(axes, node, layout)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(path, format="png", dpi=DOTS)


def _draw_band(axes: Any, band: Band, layout: Layout) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    (left, right), (start, end) = band.x, band.y
    middle = (left + right) / 2
    points = [(left, start), (middle, start), (middle, end), (right, end)]
    curve = Curve(points, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    colour = colour_of(band.end[1], band.family, layout)
    style: dict[str, Any] = {"fill": False, "edgecolor": colour, "linewidth": band.width * POINT, "capstyle": "butt"}
    axes.add_patch(PathPatch(curve, alpha=opacity_of(band), **style))


def _draw_node(axes: Any, node: Node, layout: Layout) -> None:
    from matplotlib.patches import Rectangle

    place = (node.left, node.top)
    axes.add_patch(Rectangle(place, NODE, node.height, facecolor=node_colour(node, layout), edgecolor="none"))
    x, y, anchor = label_place(node.key[0], node.top + node.height / 2)
    refused = node.key[1] == "refused"
    style: dict[str, Any] = {"color": RED} if refused else {}
    _write(axes, x, y, node_label(node), anchor=anchor, outlined=True, **style)


def _write(
    axes: Any,
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: float = 11.5,
    outlined: bool = False,
    **style: Any,
) -> None:
    from matplotlib.patheffects import withStroke

    effects = [withStroke(linewidth=2, foreground="white")] if outlined else []
    fixed: dict[str, Any] = {"parse_math": False, "family": "DejaVu Sans", "va": "center", "path_effects": effects}
    axes.text(x, y, text, ha=SIDES[anchor], fontsize=size * POINT, **(fixed | style))
