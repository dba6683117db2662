"""Comparisons of numbers in the column form: the numbers among the metadata, and the comparisons that they fulfil."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.conditions import NumberComparison
from pointsman.conditions.compiler import number_of
from pointsman.errors import MessageError
from pointsman.matching.terms.hits import Hits
from pointsman.matching.terms.kernels.compiled import Ids, Places, frozen
from pointsman.subscriptions.column_form.kernels import (
    EQUAL,
    GREATER,
    GREATER_OR_EQUAL,
    LESS,
    LESS_OR_EQUAL,
    UNEQUAL,
    Comparisons,
    RowNumbers,
)
from pointsman.subscriptions.column_form.streams import cuts, spread

CODES = {"<": LESS, "<=": LESS_OR_EQUAL, "=": EQUAL, "<>": UNEQUAL, ">=": GREATER_OR_EQUAL, ">": GREATER}
LIKE_A_NUMBER = "^-?[0-9]"


def comparisons_of(found: Sequence[NumberComparison]) -> tuple[Comparisons, list[str]]:
    """The comparisons as arrays, and the names of their keys: key 1 is the first, 0 is any."""
    keys: dict[str, int] = {}
    for each in found:
        if each.key is not None:
            keys.setdefault(each.key, len(keys) + 1)
    arrays = Comparisons(
        frozen(np.array([0 if each.key is None else keys[each.key] for each in found], np.int32)),
        frozen(np.array([CODES[each.operator] for each in found], np.uint8)),
        frozen(np.array([each.number for each in found], np.float64)),
    )
    return arrays, list(keys)


def no_numbers(rows: int) -> RowNumbers:
    """Rows without any."""
    return RowNumbers(frozen(np.zeros(rows + 1, np.int64)), frozen(np.empty(0, np.int32)), frozen(np.empty(0)))


def row_numbers(metadata: Any, key_ids: Mapping[str, int], *, any_key: bool) -> RowNumbers:
    """The values of a column of maps that are numbers, as ``NumberComparison`` reads them, under the keys asked for.

    With ``any_key`` also those under all other keys, which get the number 0.
    """
    chunks = metadata.chunks if isinstance(metadata, pa.ChunkedArray) else [metadata]
    found = [_of_chunk(chunk, key_ids, any_key) for chunk in chunks]
    if len(found) == 1:
        return found[0]
    counts = np.concatenate([np.diff(each.offsets) for each in found] or [np.empty(0, np.int64)])
    return RowNumbers(
        frozen(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
        frozen(np.concatenate([each.keys for each in found] or [np.empty(0, np.int32)])),
        frozen(np.concatenate([each.values for each in found] or [np.empty(0)])),
    )


def _of_chunk(chunk: Any, key_ids: Mapping[str, int], any_key: bool) -> RowNumbers:
    rows = len(chunk)
    if rows == 0:
        return no_numbers(0)
    offsets = chunk.offsets.to_numpy().astype(np.int64)
    first, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    try:
        keys = chunk.keys.slice(first, size).cast(pa.large_string()).dictionary_encode()
        values = chunk.items.slice(first, size).cast(pa.large_string())
    except pa.ArrowException:
        raise MessageError("bad-message", f"a column of metadata holds maps of texts, not {chunk.type}") from None
    owners = np.repeat(np.arange(rows), np.diff(offsets))
    known = np.array([key_ids.get(key, 0) for key in keys.dictionary.to_pylist()], np.int32)
    ids = known[keys.indices.to_numpy(zero_copy_only=False)] if size else np.empty(0, np.int32)
    wanted = chunk.is_valid().to_numpy(zero_copy_only=False)[owners] & ((ids > 0) | any_key)
    chosen = np.flatnonzero(wanted)
    alike = pc.match_substring_regex(values.take(pa.array(chosen)), LIKE_A_NUMBER).fill_null(False)
    chosen = chosen[alike.to_numpy(zero_copy_only=False)]
    texts = values.take(pa.array(chosen)).dictionary_encode()
    parsed = [number_of(text) for text in texts.dictionary.to_pylist()]
    read = np.array([np.nan if each is None else each for each in parsed], np.float64)
    numbers = read[texts.indices.to_numpy(zero_copy_only=False)] if chosen.size else np.empty(0)
    kept = ~np.isnan(numbers)
    chosen = chosen[kept]
    ends = np.cumsum(np.bincount(owners[chosen], minlength=rows))
    return RowNumbers(frozen(np.concatenate([[0], ends]).astype(np.int64)), frozen(ids[chosen]), frozen(numbers[kept]))


class NumberGates(NamedTuple):
    """The comparisons that are gates, by key and operator, each group by its limits; frozen."""

    terms: Ids
    limits: Any
    group_offsets: Places
    group_keys: Ids
    group_operators: Any

    @classmethod
    def of(cls, comparisons: Comparisons, gates: Places, first_term: int) -> NumberGates:
        """Of the comparisons with these numbers, whose terms begin with ``first_term``."""
        keys, operators, limits = comparisons.keys[gates], comparisons.operators[gates], comparisons.limits[gates]
        order = np.lexsort((limits, operators, keys))
        codes = keys[order].astype(np.int64) * 8 + operators[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        return cls(
            frozen((gates[order] + first_term).astype(np.int32)),
            frozen(limits[order]),
            frozen(np.append(starts, order.size).astype(np.int64)),
            frozen((codes[starts] >> 3).astype(np.int32)),
            frozen((codes[starts] & 7).astype(np.uint8)),
        )

    def rows(self, numbers: RowNumbers) -> Iterator[Hits]:
        """The terms that the numbers of each row fulfil; one may come twice for a row."""
        rows = numbers.offsets.size - 1
        owners, starts, sizes = self._ranges(numbers, np.repeat(np.arange(rows), np.diff(numbers.offsets)))
        counts = np.zeros(rows, np.int64)
        np.add.at(counts, owners, sizes)
        for first, stop in cuts(counts):
            low, high = np.searchsorted(owners, [first, stop])
            offsets = np.concatenate([[0], np.cumsum(counts[first:stop])]).astype(np.int64)
            yield Hits(first, frozen(offsets), frozen(self.terms[spread(starts[low:high], sizes[low:high])]))

    def _ranges(self, numbers: RowNumbers, rows: Places) -> tuple[Places, Places, Places]:
        """For each row, ascending, where ranges of the terms begin that hold, and how long they are."""
        found: list[tuple[Places, Places, Places]] = []
        for group, (key, operator) in enumerate(zip(self.group_keys, self.group_operators, strict=True)):
            begin, end = int(self.group_offsets[group]), int(self.group_offsets[group + 1])
            chosen = np.flatnonzero(numbers.keys == key) if key else np.arange(numbers.keys.size)
            values, owners = numbers.values[chosen], rows[chosen]
            limits = self.limits[begin:end]
            left = begin + np.searchsorted(limits, values, side="left")
            right = begin + np.searchsorted(limits, values, side="right")
            for start, stop in _bounds(int(operator), begin, end, left, right):
                found.append((owners, np.broadcast_to(start, owners.shape), np.broadcast_to(stop, owners.shape)))
        if not found:
            return (np.empty(0, np.int64),) * 3
        owners, starts, stops = (np.concatenate(each).astype(np.int64) for each in zip(*found, strict=True))
        order = np.argsort(owners, kind="stable")
        return owners[order], starts[order], (stops - starts)[order]


def _bounds(operator: int, begin: int, end: int, left: Any, right: Any) -> list[tuple[Any, Any]]:
    """Which limits of a sorted group a number fulfils that would stand between ``left`` and ``right``."""
    return {
        GREATER: [(begin, left)],
        GREATER_OR_EQUAL: [(begin, right)],
        LESS: [(right, end)],
        LESS_OR_EQUAL: [(left, end)],
        EQUAL: [(left, right)],
        UNEQUAL: [(begin, left), (right, end)],
    }[operator]
