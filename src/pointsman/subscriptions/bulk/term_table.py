"""The distinct leaves of all pieces of a file, as terms from 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Words
from pointsman.subscriptions.bulk.conditions import Leaves, room_for_leaves
from pointsman.subscriptions.bulk.terms import fill_slots, leaf_widths, number_terms

MOST = 4_000_000
"""Terms that are kept in memory."""
GROWTH = 4
"""How many times as large arrays become that are full."""


class FoundTerms(NamedTuple):
    """The terms of the leaves of a piece, and all terms so far; nothing of it changes any more."""

    terms: Ids
    is_anew: bool
    """Whether all terms before it were forgotten, and the first is 0 again."""
    first: int
    """The first that is new."""
    total: int
    """How many there are."""
    data: Bytes
    """Where the keys and texts of the terms stand."""
    leaves: Leaves
    widths: Ids


class TermTable:
    """Terms in arrays with room for more. What stands in them stays, so that others may read it meanwhile."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._count = self._size = 0
        self._leaves = room_for_leaves(0)
        self._data: Bytes = np.zeros(0, np.uint8)
        self._slots: Ids = np.full(16, -1, np.int32)
        self._hashes: Words = np.zeros(0, np.uint64)
        self._widths: Ids = np.zeros(0, np.int32)

    def find(self, data: Bytes, leaves: Leaves, count: int, remember: bool = True) -> FoundTerms:
        """The terms of so many leaves; what was found before is forgotten when it is too much, or not wanted."""
        if self._count > MOST or not remember:
            self._forget()
        self._make_room(count, int(leaves.key_sizes[:count].sum() + leaves.text_sizes[:count].sum()))
        terms, first = np.zeros(count, np.int32), self._count
        self._count, self._size = number_terms(
            data,
            leaves,
            count,
            leaves.numbers.view(np.uint64),
            self._data,
            self._leaves,
            self._leaves.numbers.view(np.uint64),
            self._count,
            self._size,
            self._slots,
            self._hashes,
            terms,
        )
        leaf_widths(self._data, self._leaves, first, self._count, self._widths)
        return FoundTerms(terms, first == 0, first, self._count, self._data, self._leaves, self._widths)

    def _make_room(self, count: int, size: int) -> None:
        """Makes the arrays larger, if need be, for so many terms and bytes more."""
        if self._count + count > self._widths.size:
            room = max(GROWTH * self._widths.size, self._count + count)
            self._leaves = Leaves._make(larger(each, self._count, room) for each in self._leaves)
            self._widths = larger(self._widths, self._count, room)
            self._hashes = larger(self._hashes, self._count, room)
        if self._size + size > self._data.size:
            self._data = larger(self._data, self._size, max(GROWTH * self._data.size, self._size + size))
        if 2 * (self._count + count) > self._slots.size:
            room = self._slots.size
            while room < 2 * (self._count + count):
                room *= 2
            self._slots = np.full(room, -1, np.int32)
            fill_slots(self._hashes, self._count, self._slots)


def larger(array: npt.NDArray[Any], used: int, room: int) -> npt.NDArray[Any]:
    """A copy of the part that is used, with room for more, which takes no memory before it is used."""
    copy = np.empty(room, array.dtype)
    copy[:used] = array[:used]
    return copy
