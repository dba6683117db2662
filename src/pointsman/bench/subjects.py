"""Subjects and patterns to measure with: hierarchical, of 3 to 7 tokens, in MQTT's dialect so that peers can read them.

The subjects are the 2.4 million leaves of five trees, one for each depth, that share their upper levels. A pattern is a
random subject, 40 % as it is, 35 % with one or two one-wildcards, 20 % with a many-wildcard at the end, 5 % with both.
The fewer patterns there are, the wider they are chosen, so that 5 to 15 match a subject at every size.

A row of tokens is a row of numbers: those of the tokens at their level, ``ONE`` and ``MANY`` for the wildcards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BRANCHES = (
    (4, 6, 20_000),
    (4, 6, 8, 2_500),
    (4, 6, 8, 25, 100),
    (4, 6, 8, 25, 20, 5),
    (4, 6, 8, 25, 8, 4, 3),
)
WORDS = ("plant", "line", "cell", "device", "sensor", "signal", "unit")
ALL = sum(math.prod(branches) for branches in BRANCHES)
MIX = {"one": 0.35, "many": 0.20, "both": 0.05}
"""The shares of the patterns with wildcards; the others have none."""
MOST = 1_200_000
"""Patterns; of those with a many-wildcard there are hardly more."""
HOT = 50_000
"""How many subjects the repeated stream has."""
MISSING = 0.9
"""How much of the missing stream matches nothing."""

ABSENT, ONE, MANY, FIRST = -1, 0, 1, 2
LEVELS = np.arange(len(WORDS))
LIMITS = [max(branches[level] for branches in BRANCHES if level < len(branches)) for level in range(len(WORDS))]
BASES = [limit + FIRST - ABSENT for limit in LIMITS]

Texts = Any
"""An Arrow array of strings."""
Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Streams:
    """Messages: some subjects again and again, no subject twice, and subjects that mostly match nothing."""

    repeated: Texts
    distinct: Texts
    missing: Texts


class Shape(NamedTuple):
    """Where wildcards stand in the patterns of a tree."""

    ones: tuple[int, ...]
    many: int
    """Where the many-wildcard stands, which ends the pattern; beyond the last level if there is none."""

    def width(self, branches: tuple[int, ...]) -> int:
        """How many subjects of the tree such a pattern matches."""
        return math.prod(branches[one] for one in self.ones) * math.prod(branches[self.many :])


def patterns(count: int, seed: int = 1) -> Texts:
    """So many patterns, no two of them alike; raises ``ValueError`` when there are not enough of them."""
    if count > MOST:
        raise ValueError(f"there are not {count} patterns to choose from, but {MOST}")
    source = np.random.default_rng(seed)
    # Few patterns cannot all be as wide as wanted, many not as narrow: ask for more, or less, to get about the same.
    wanted = 4 * ALL / count * (100_000 / count) ** 0.3
    kinds = [_distinct(round(share * count), kind, wanted, source) for kind, share in MIX.items()]
    plain = _distinct(count - sum(map(len, kinds)), "none", wanted, source)
    return _texts(source.permutation(np.concatenate([plain, *kinds])))


def streams(count: int, seed: int = 2) -> Streams:
    """So many messages of each kind, and no more distinct ones than there are subjects."""
    source = np.random.default_rng(seed)
    hot = source.choice(ALL, HOT, replace=False)
    weights = 1 / np.arange(1, HOT + 1)
    repeated = hot[source.choice(HOT, count, p=weights / weights.sum())]
    distinct = _leaves(source.choice(ALL, min(count, ALL), replace=False))
    # Plants that no pattern names, and at the end a name unknown at its level: only the way between is known.
    missing = distinct.copy()
    foreign = source.random(len(missing)) < MISSING
    ends = (missing >= 0).sum(axis=1) - 1
    missing[foreign, 0] += LIMITS[0]
    missing[foreign, ends[foreign]] += np.array(LIMITS, np.int32)[ends[foreign]]
    return Streams(*map(_texts, (_leaves(repeated), distinct, missing)))


def _leaves(numbers: npt.NDArray[np.int64]) -> Rows:
    """The rows of these leaves, which are counted on from tree to tree."""
    rows = np.full((len(numbers), len(WORDS)), ABSENT, np.int32)
    first = 0
    for branches in BRANCHES:
        size = math.prod(branches)
        own = np.flatnonzero((numbers >= first) & (numbers < first + size))
        rows[own, : len(branches)] = FIRST + np.stack(np.unravel_index(numbers[own] - first, branches), axis=1)
        first += size
    return rows


def _texts(rows: Rows) -> Texts:
    columns = []
    for level, word in enumerate(WORDS):
        names = pa.array(["+", "#", *(f"{word}{number}" for number in range(2 * LIMITS[level]))])
        columns.append(names.take(pa.array(rows[:, level], mask=rows[:, level] == ABSENT)))
    return pc.binary_join_element_wise(*columns, "/", null_handling="skip")


def _distinct(count: int, kind: str, wanted: float, source: np.random.Generator) -> Rows:
    """So many rows of a kind of pattern, no two alike."""
    shapes = [_by_distance(branches, kind, wanted) for branches in BRANCHES]
    keys = np.empty(0, np.int64)
    # When the patterns of the widths nearest to the one wanted are used up, the next ones are taken.
    for choice in range(3, 1_000):
        rows = _leaves(source.integers(ALL, size=2 * (count - len(keys)) + 1_000))
        depths = (rows >= 0).sum(axis=1)
        numbers = source.integers(choice, size=len(rows))
        for depth, own_shapes in enumerate(shapes, len(BRANCHES[0])):
            own = np.flatnonzero(depths == depth)
            rows[own] = _with_wildcards(rows[own], own_shapes, numbers[own] % min(choice, len(own_shapes)))
        keys = pa.array(np.concatenate([keys, _keys(rows)])).unique().to_numpy()[:count]
        if len(keys) == count:
            return _rows(keys)
    raise AssertionError(f"there are not {count} patterns of the kind {kind!r}")


def _keys(rows: Rows) -> npt.NDArray[np.int64]:
    """One number for each row, the same for the same rows."""
    keys = np.zeros(len(rows), np.int64)
    for level, base in enumerate(BASES):
        keys = keys * base + rows[:, level] - ABSENT
    return keys


def _rows(keys: npt.NDArray[np.int64]) -> Rows:
    """The rows of these numbers."""
    rows = np.empty((len(keys), len(WORDS)), np.int32)
    for level in reversed(range(len(WORDS))):
        keys, rows[:, level] = np.divmod(keys, BASES[level])
    return rows + np.int32(ABSENT)


def _with_wildcards(rows: Rows, shapes: list[Shape], numbers: npt.NDArray[np.int64]) -> Rows:
    ones = np.array([np.isin(LEVELS, shape.ones) for shape in shapes])[numbers]
    many = np.array([shape.many for shape in shapes])[numbers, None]
    rows = np.where(ones, ONE, rows)
    return np.where(many == LEVELS, MANY, np.where(many < LEVELS, ABSENT, rows)).astype(np.int32)


def _by_distance(branches: tuple[int, ...], kind: str, wanted: float) -> list[Shape]:
    """The shapes of a kind, those nearest to the width wanted first."""
    return sorted(_shapes(len(branches), kind), key=lambda shape: abs(math.log(shape.width(branches) / wanted)))


def _shapes(depth: int, kind: str) -> Iterator[Shape]:
    """The shapes of a kind; without those that leave both ends open, which would match most of the missing stream."""
    if kind == "none":
        yield Shape((), len(WORDS))
    if kind == "one":
        for ones in (ones for number in (1, 2) for ones in combinations(range(depth), number)):
            if ones != (0, depth - 1):
                yield Shape(ones, len(WORDS))
    if kind == "many":
        yield from (Shape((), many) for many in range(1, depth))
    if kind == "both":
        yield from (Shape((one,), many) for many in range(2, depth) for one in range(1, many))
