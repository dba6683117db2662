"""Where everything stands in the flow picture: three columns of nodes, and bands between them.

    subjects by their first token ─▶ routes ─▶ destinations
                                 ─▶ quarantined ─▶ why
                                 ─▶ no route

One scale holds for the whole picture: the height of every node, and the width of every band, is its count times it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from pointsman.demo.counts import Counts

WIDTH, HEIGHT = 1200.0, 800.0
TOP, BOTTOM = 70.0, 36.0
COLUMNS = (150.0, 535.0, 930.0)
"""The left sides of the columns."""
NODE = 14.0
"""The width of a node."""
SLOT, GAP = 13.5, 2.0
"""A node has at least so much height to itself, so that its label can be read; and the gap between two."""
MOST = 42
"""Nodes in a column; of more, the smallest are put together."""
KINDS = 3
"""Of nodes in a column at the most; each kind is put together by itself."""
OTHERS = "all others"
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
    refused: bool


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
    """The picture of what went where; never fails, also where nothing went anywhere."""
    flows = merged(flows_of(counts))
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


def merged(flows: Flows) -> Flows:
    """The flows with the smallest nodes of columns that have too many put together."""
    sizes = _sizes(flows)
    small: set[Key] = set()
    for column in range(len(COLUMNS)):
        largest = sorted((key for key in sizes if key[0] == column), key=lambda key: -sizes[key])
        small |= set(largest[MOST - KINDS :]) if len(largest) > MOST else set()

    def kept(key: Key) -> Key:
        return (key[0], key[1], OTHERS) if key in small else key

    result: Flows = Counter()
    for (start, end, family), count in flows.items():
        first = kept(start)
        result[first, kept(end), first[2] if first[0] == 0 else kept((0, "family", family))[2]] += count
    return result


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
        yield Band(start, end, family, flows[each], x, y, width, end[1] == "refused")
