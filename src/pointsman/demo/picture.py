"""The flow picture of the demo: which subjects went through which routes to which destinations.

    subjects by their first token ─▶ routes ─▶ destinations
                                 ─▶ quarantined ─▶ why
                                 ─▶ no route

First the layout: three columns of nodes, and bands between them. One scale holds for the whole picture: the height of
each node and the width of each band is its count times the scale. Then the layout is written as SVG.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pointsman.demo.counts import Counts
from pointsman.errors import InputError

WIDTH, HEIGHT = 1200.0, 800.0
TOP, BOTTOM = 70.0, 36.0
COLUMNS = (150.0, 535.0, 930.0)
"""The left sides of the columns."""
NODE = 14.0
"""The width of a node."""
SLOT, GAP = 13.5, 2.0
"""A node has at least so much height to itself, so that its label can be read; and the gap between two."""
QUARANTINED, UNROUTED = "quarantined", "no route"
NAMELESS = "(no name)"
"""The label of the subjects without a first token."""

Key = tuple[int, str, str]
"""The column of a node, what it is (``family``, ``route``, ``destination``, ``refused`` or ``unrouted``), its name."""
Flows = Counter[tuple[Key, Key, str]]
"""How many go from one node to another, by the family that they are of."""


class Band(NamedTuple):
    """Messages from one node to another: a curve from point to point, so wide."""

    start: Key
    end: Key
    family: str
    total: int
    x: tuple[float, float]
    y: tuple[float, float]
    """Of the middle of the band at its two ends."""
    width: float


class Node(NamedTuple):
    """A rectangle."""

    key: Key
    total: int
    left: float
    top: float
    height: float
    slot: float
    """The height that it and its label have to themselves."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole picture, in pixels from the top left."""

    nodes: tuple[Node, ...]
    bands: tuple[Band, ...]
    families: tuple[str, ...]
    """From the top down."""
    scale: float
    """Pixels for one message."""


def lay_out(counts: Counts) -> Layout:
    """Returns the layout; there is room for some forty nodes in a column, and the demo has fewer."""
    # Sorted, as sums of fractions depend on the order, and so would what is near what.
    flows: Flows = Counter(dict(sorted(flows_of(counts).items())))
    sizes = _sizes(flows)
    scale = _scale(sizes)
    places: dict[Key, Node] = {}
    for column in range(len(COLUMNS)):
        for node in _stacked(_ordered(column, sizes, flows, places), sizes, scale):
            places[node.key] = node
    families = tuple(key[2] for key in places if key[0] == 0)
    return Layout(tuple(places.values()), tuple(_bands(flows, places, scale)), families, scale)


def flows_of(counts: Counts) -> Flows:
    """What goes from which node to which."""
    flows: Flows = Counter()
    for flow, count in counts.deliveries.items():
        start, route = (0, "family", flow.family or NAMELESS), (1, "route", flow.route)
        flows[start, route, start[2]] += count
        flows[route, (2, "destination", flow.destination), start[2]] += count
    for refusal, count in counts.quarantined.items():
        start, middle = (0, "family", refusal.family or NAMELESS), (1, "refused", QUARANTINED)
        flows[start, middle, start[2]] += count
        flows[middle, (2, "refused", f"{refusal.stage}: {refusal.code}"), start[2]] += count
    for family, count in counts.unrouted.items():
        start = (0, "family", family or NAMELESS)
        flows[start, (1, "unrouted", UNROUTED), start[2]] += count
    return flows


def _sizes(flows: Flows) -> dict[Key, int]:
    """How many go through each node: as many as come, or as many as leave where nothing comes."""
    coming: Counter[Key] = Counter()
    leaving: Counter[Key] = Counter()
    for (start, end, _), count in flows.items():
        leaving[start] += count
        coming[end] += count
    return {key: max(coming[key], leaving[key]) for key in chain(leaving, coming)}


def _scale(sizes: Mapping[Key, int]) -> float:
    """The largest scale by which every column fits, found by halving."""
    smallest, largest = 0.0, HEIGHT / max(sizes.values(), default=1)
    for _ in range(60):
        middle = (smallest + largest) / 2
        fits = all(_height(_in_column(sizes, column), middle) <= HEIGHT - TOP - BOTTOM for column in range(3))
        smallest, largest = (middle, largest) if fits else (smallest, middle)
    return smallest


def _in_column(sizes: Mapping[Key, int], column: int) -> list[int]:
    return [size for key, size in sizes.items() if key[0] == column]


def _height(sizes: Iterable[int], scale: float) -> float:
    return sum(max(size * scale, SLOT) + GAP for size in sizes)


def _ordered(column: int, sizes: Mapping[Key, int], flows: Flows, places: Mapping[Key, Node]) -> list[Key]:
    """The nodes of a column: the largest first on the left, then each near those that lead to it; refusals last."""
    keys = [key for key in sizes if key[0] == column]
    kinds = {"family": 0, "route": 0, "destination": 0, "unrouted": 1, "refused": 2}
    wishes = {key: _mean(key, flows, places) if column else -sizes[key] for key in keys}
    return sorted(keys, key=lambda key: (kinds[key[1]], wishes[key], key[2]))


def _mean(key: Key, flows: Flows, places: Mapping[Key, Node]) -> float:
    """The middle of what leads to a node."""
    coming = [(places[start], count) for (start, end, _), count in flows.items() if end == key]
    total = sum(count for _, count in coming)
    return sum((node.top + node.height / 2) * count for node, count in coming) / total


def _stacked(keys: list[Key], sizes: Mapping[Key, int], scale: float) -> Iterable[Node]:
    """Nodes below each other; what is left of the height is shared between them."""
    spare = HEIGHT - TOP - BOTTOM - _height((sizes[key] for key in keys), scale)
    top = TOP
    for key in keys:
        height = sizes[key] * scale
        slot = max(height, SLOT)
        yield Node(key, sizes[key], COLUMNS[key[0]], top + (slot - height) / 2, height, slot)
        top += slot + GAP + spare / len(keys)


def _bands(flows: Flows, places: Mapping[Key, Node], scale: float) -> Iterable[Band]:
    """The bands, those that leave or enter a node side by side in the order of their other ends."""
    order = sorted(flows, key=lambda each: (places[each[1]].top, places[each[0]].top, each[2]))
    leaving = {key: node.top for key, node in places.items()}
    ends: dict[tuple[Key, Key, str], float] = {}
    for each in order:
        ends[each] = leaving[each[0]]
        leaving[each[0]] += flows[each] * scale
    entering = {key: node.top for key, node in places.items()}
    for each in sorted(flows, key=lambda each: (places[each[0]].top, ends[each])):
        start, end, family = each
        width = flows[each] * scale
        y = (ends[each] + width / 2, entering[end] + width / 2)
        x = (places[start].left + NODE, places[end].left)
        entering[end] += width
        yield Band(start, end, family, flows[each], x, y, width)


COLOURS = (
    *("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#76b7b2", "#edc948"),
    *("#9c755f", "#8cd17d", "#499894", "#d4a6c8", "#79706e", "#86bcb6"),
)
"""Of the families, from the top down; red is for what is quarantined."""
RED, GREY, DARK = "#d62728", "#8a929a", "#3b4a57"
LONGEST = 28
"""Characters of a label; a longer one is cut."""
HEADINGS = ("subjects", "routes", "destinations")
NOTE = "Widths are deliveries: a message that goes to several destinations counts for each of them."
PAINTED = {"unrouted": 0, "route": 1, "destination": 1, "refused": 2}
"""Bands with a higher number are painted above the others."""


def draw_flow(counts: Counts, path: Path) -> None:
    """Writes the picture, 1200 by 800, as an SVG file. The same counts give the same bytes.

    Raises ``InputError`` (``no-file``) if the file cannot be written.
    """
    try:
        path.write_text("\n".join(as_svg(counts)) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None


def as_svg(counts: Counts) -> Iterator[str]:
    """Yields the lines of the SVG file."""
    layout = lay_out(counts)
    title = (
        f"{counts.messages:,} messages: {counts.deliveries.total():,} deliveries, "
        f"{counts.quarantined.total():,} quarantined, {counts.unrouted.total():,} without a route"
    )
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{HEIGHT:g}"'
    yield f'     viewBox="0 0 {WIDTH:g} {HEIGHT:g}" font-family="sans-serif" font-size="11.5" fill="#26323d">'
    yield f'<rect width="{WIDTH:g}" height="{HEIGHT:g}" fill="white"/>'
    yield f'<text x="24" y="28" font-size="17" font-weight="bold">{_text(title)}</text>'
    for column, heading in enumerate(HEADINGS):
        x, anchor = _label_place(column)
        yield f'<text x="{x:g}" y="54" text-anchor="{anchor}" fill="{GREY}">{heading}</text>'
    yield f'<text x="24" y="{HEIGHT - 12:g}" fill="{GREY}">{NOTE}</text>'
    yield '<g fill="none">'
    yield from (_band(band, layout) for band in sorted(layout.bands, key=lambda band: PAINTED[band.end[1]]))
    yield "</g>"
    yield from (_node(node, layout) for node in layout.nodes)
    yield "</svg>"


def _label_place(column: int) -> tuple[float, str]:
    """Returns where a label begins or ends: left of the first column, right of the others."""
    left = COLUMNS[column]
    return (left - 6, "end") if column == 0 else (left + NODE + 5, "start")


def _colour(kind: str, family: str, layout: Layout) -> str:
    if kind in ("refused", "unrouted"):
        return RED if kind == "refused" else GREY
    return COLOURS[layout.families.index(family) % len(COLOURS)]


def _band(band: Band, layout: Layout) -> str:
    (left, right), (start, end) = band.x, band.y
    middle = (left + right) / 2
    kind = band.end[1]
    curve = f"M{left:.2f} {start:.2f}C{middle:.2f} {start:.2f} {middle:.2f} {end:.2f} {right:.2f} {end:.2f}"
    told = _text(f"{band.start[2]} → {band.end[2]}: {band.total:,} ({band.family})")
    return (
        f'<path d="{curve}" stroke="{_colour(kind, band.family, layout)}" stroke-width="{band.width:.4f}"'
        f' stroke-opacity="{0.9 if kind == "refused" else 0.45:g}" data-count="{band.total}">'
        f"<title>{told}</title></path>"
    )


def _node(node: Node, layout: Layout) -> str:
    column, kind, name = node.key
    x, anchor = _label_place(column)
    colour = DARK if kind in ("route", "destination") else _colour(kind, name, layout)
    fill = f' fill="{RED}"' if kind == "refused" else ""
    label = name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
    return (
        f'<rect x="{node.left:g}" y="{node.top:.2f}" width="{NODE:g}" height="{node.height:.4f}" fill="{colour}"'
        f' data-count="{node.total}"/>'
        f'<text x="{x:g}" y="{node.top + node.height / 2:.2f}" dy="0.35em" text-anchor="{anchor}"{fill}'
        f' stroke="white" stroke-width="2.5" paint-order="stroke">{_text(f"{label}  {node.total:,}")}</text>'
    )


def _text(text: str) -> str:
    """Returns the text for XML; characters that cannot be shown, which XML may not hold, become a mark."""
    return escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text))
