"""The flow picture of the demo: which subjects went through which routes to which destinations."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from pointsman.demo.counts import Counts
from pointsman.demo.flow import COLUMNS, HEIGHT, NODE, WIDTH, Band, Layout, Node, lay_out
from pointsman.errors import InputError

FORMATS = ("svg", "png")
COLOURS = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#b07aa1",
    "#76b7b2",
    "#edc948",
    "#9c755f",
    "#8cd17d",
    "#499894",
    "#d4a6c8",
    "#79706e",
    "#86bcb6",
)
"""Of the families, from the top down; red is kept for what is quarantined."""
RED = "#d62728"
GREY = "#8a929a"
LONGEST = 28
"""Characters of a label; a longer one is cut."""
HEADINGS = ("subjects", "routes", "destinations")
NOTE = "Widths are deliveries: a message that goes to several destinations counts for each of them."
PAINTED = {"unrouted": 0, "route": 1, "destination": 1, "refused": 2}
"""Which bands lie above which."""
OPACITY = {"refused": 0.9}
USUAL_OPACITY = 0.45


def draw_flow(counts: Counts, path: Path) -> None:
    """Writes the picture, 1200 by 800, as an SVG or PNG file, by the ending of its name.

    The same counts give the same SVG. Raises ``InputError`` for another ending (``bad-usage``) or a file that cannot be
    written (``no-file``), and ``MissingExtraError`` for a PNG without matplotlib; an SVG needs nothing.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError("bad-usage", f"a picture is an .svg or .png file, and {path.name!r} is neither")
    layout = lay_out(counts)
    try:
        if kind == "svg":
            path.write_text("\n".join(as_svg(layout, title_of(counts))) + "\n", encoding="utf-8")
        else:
            from pointsman.demo.picture_png import write_png

            write_png(layout, title_of(counts), path)
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None


def title_of(counts: Counts) -> str:
    """What stands above the picture."""
    return (
        f"{counts.messages:,} messages: {counts.deliveries.total():,} deliveries, "
        f"{counts.quarantined.total():,} quarantined, {counts.unrouted.total():,} without a route"
    )


def as_svg(layout: Layout, title: str) -> Iterator[str]:
    """The lines of the SVG file."""
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{HEIGHT:g}"'
    yield f'     viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-family="sans-serif" font-size="11.5" fill="#26323d">'
    yield f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="white"/>'
    yield f'<text x="24" y="28" font-size="17" font-weight="bold">{_text(title)}</text>'
    for heading, (x, anchor) in zip(HEADINGS, heading_places(), strict=True):
        yield f'<text x="{x:g}" y="54" text-anchor="{anchor}" fill="{GREY}">{heading}</text>'
    yield f'<text x="24" y="{HEIGHT - 12:g}" fill="{GREY}">{NOTE}</text>'
    yield '<g fill="none">'
    yield from (_band(band, layout) for band in painted(layout))
    yield "</g>"
    yield from (_node(node, layout) for node in layout.nodes)
    yield "</svg>"


def painted(layout: Layout) -> list[Band]:
    """The bands in the order in which they are drawn."""
    return sorted(layout.bands, key=lambda band: PAINTED[band.end[1]])


def opacity_of(band: Band) -> float:
    """How much of what lies below a band it hides."""
    return OPACITY.get(band.end[1], USUAL_OPACITY)


def heading_places() -> list[tuple[float, str]]:
    """Where the heading of each column stands, and which end of it."""
    return [label_place(column, 0)[::2] for column in range(len(HEADINGS))]


def label_place(column: int, middle: float) -> tuple[float, float, str]:
    """Where the label of a node stands, and which end of it: left of the first column, right of the others."""
    left = COLUMNS[column]
    return (left - 6, middle, "end") if column == 0 else (left + NODE + 5, middle, "start")


def colour_of(kind: str, family: str, layout: Layout) -> str:
    """The colour of a node or a band."""
    if kind == "refused":
        return RED
    if kind == "unrouted":
        return GREY
    return COLOURS[layout.families.index(family) % len(COLOURS)]


def node_colour(node: Node, layout: Layout) -> str:
    """That of its family where it is one, red where messages end, and a dark one for routes and destinations."""
    kind = node.key[1]
    return "#3b4a57" if kind in ("route", "destination") else colour_of(kind, node.key[2], layout)


def printable(text: str) -> str:
    """The text with a mark in the place of what cannot be shown, which XML may not hold either."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def cut(text: str) -> str:
    """A label that is not too long, and can be shown."""
    shown = printable(text)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def node_label(node: Node) -> str:
    """The name of a node and its count."""
    return f"{cut(node.key[2])}  {node.total:,}"


def _band(band: Band, layout: Layout) -> str:
    (left, right), (start, end) = band.x, band.y
    middle = (left + right) / 2
    curve = f"M{left:.2f} {start:.2f}C{middle:.2f} {start:.2f} {middle:.2f} {end:.2f} {right:.2f} {end:.2f}"
    colour = colour_of(band.end[1], band.family, layout)
    told = _text(f"{band.start[2]} → {band.end[2]}: {band.total:,} ({band.family})")
    return (
        f'<path d="{curve}" stroke="{colour}" stroke-width="{band.width:.4f}" stroke-opacity="{opacity_of(band):g}"'
        f' data-count="{band.total}">'
        f"<title>{told}</title></path>"
    )


def _node(node: Node, layout: Layout) -> str:
    x, y, anchor = label_place(node.key[0], node.top + node.height / 2)
    colour = node_colour(node, layout)
    fill = f' fill="{RED}"' if node.key[1] == "refused" else ""
    return (
        f'<rect x="{node.left:g}" y="{node.top:.2f}" width="{NODE:g}" height="{node.height:.4f}" fill="{colour}"'
        f' data-count="{node.total}"/>'
        f'<text x="{x:g}" y="{y:.2f}" dy="0.35em" text-anchor="{anchor}"{fill}'
        f' stroke="white" stroke-width="2.5" paint-order="stroke">{_text(node_label(node))}</text>'
    )


def _text(text: str) -> str:
    return escape(printable(text))
