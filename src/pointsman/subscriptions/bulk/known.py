"""The terms that are known: the matchers of what was imported so far in a transaction, with their numbers."""

from __future__ import annotations

from typing import Any

import apsw
import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Places
from pointsman.subscriptions import statements
from pointsman.subscriptions.bulk.conditions import Leaves, room_for_leaves
from pointsman.subscriptions.bulk.packed_rows import write_matchers
from pointsman.subscriptions.bulk.terms import beginnings, fill_slots, leaf_widths, number_terms
from pointsman.subscriptions.leaf_rows import LeafRow
from pointsman.subscriptions.storing import Storing

MOST = 4_000_000
"""Terms that are kept in memory."""
FIRST_NUMBER = 4
"""Kinds from here on are comparisons of numbers."""
_COUNT_BITS = 20


class KnownTerms:
    """Terms by number, from 0, in arrays with room for more."""

    def __init__(self, storing: Storing) -> None:
        self._storing = storing
        self.is_new_to_file = storing.matchers.knows_all
        """Whether a term that is not known here cannot be in the file either."""
        self._forget()

    def _forget(self) -> None:
        self.count = self._size = 0
        self._leaves = room_for_leaves(0)
        self._data: Bytes = np.zeros(0, np.uint8)
        self._slots: Ids = np.full(16, -1, np.int32)
        self.numbers: Places = np.zeros(0, np.int64)
        self.uses: Places = np.zeros(0, np.int64)
        self.widths: Ids = np.zeros(0, np.int32)

    def find(self, data: Bytes, leaves: Leaves, count: int) -> Ids:
        """The terms of so many leaves; new ones get their numbers, of the file if they are in it."""
        if self.count > MOST:
            self._forget()
            self.is_new_to_file = False
        self._make_room(count, int(leaves.key_sizes[:count].sum() + leaves.text_sizes[:count].sum()))
        terms, first = np.zeros(count, np.int32), self.count
        self.count, self._size = number_terms(
            data,
            leaves,
            count,
            leaves.numbers.view(np.uint64),
            self._data,
            self._leaves,
            self._leaves.numbers.view(np.uint64),
            self.count,
            self._size,
            self._slots,
            terms,
        )
        leaf_widths(self._data, self._leaves, first, self.count, self.widths)
        self._number(first)
        return terms

    def write(self, before: Places) -> None:
        """Writes the matchers that are new to the file, and how often each is used more than before."""
        more = self.uses[: self.count] - before
        is_text = self._leaves.kinds[self._new] < FIRST_NUMBER
        comparisons, texts = self._new[~is_text], self._new[is_text]
        if comparisons.size:
            rows = zip(
                self._rows(comparisons), self.numbers[comparisons].tolist(), more[comparisons].tolist(), strict=True
            )
            self._storing.transaction.executemany(statements.MATCHER_ADD, [(*row, *rest) for row, *rest in rows])
            more[comparisons] = 0
        if texts.size:
            rest, first = more[texts], int(self.numbers[texts[0]])
            write_matchers(self._storing, self._data, self._leaves, texts, rest, first)
            more[texts] = rest
        old = np.flatnonzero(more)
        if old.size:
            packed = np.sort(self.numbers[old] << _COUNT_BITS | more[old])
            self._storing.transaction.execute(statements.MATCHERS_USE, (apsw.carray(packed),))
        self._storing.matchers.forget_all()

    def _number(self, first: int) -> None:
        """Numbers for the terms from the first on: comparisons, then texts in the order that their index has."""
        new = np.arange(first, self.count)
        if not self.is_new_to_file:
            rows = self._rows(new)
            find = self._storing.transaction.first
            for term, row in zip(new.tolist(), rows, strict=True):
                stored = find(statements.MATCHER_FIND, row)
                self.numbers[term], self.uses[term] = (0, 0) if stored is None else stored
            new = new[self.numbers[first : self.count] == 0]
        texts, sizes = self._leaves.texts[new], self._leaves.text_sizes[new]
        is_text = self._leaves.kinds[new] < FIRST_NUMBER
        self._new: Places = new[np.lexsort((beginnings(self._data, texts, sizes), is_text))]
        control = self._storing.control
        self.numbers[self._new] = np.arange(control.last_matcher + 1, control.last_matcher + 1 + new.size)
        self.uses[self._new] = 0
        control.last_matcher += int(new.size)

    def _rows(self, terms: Places) -> list[LeafRow]:
        leaves, data = self._leaves, self._data[: self._size].tobytes()
        keys: dict[bytes, str] = {}
        rows: list[LeafRow] = []
        columns = (leaves.kinds, leaves.keys, leaves.key_sizes, leaves.texts, leaves.text_sizes, leaves.numbers)
        for kind, key, key_size, text, size, number in zip(*(each[terms].tolist() for each in columns), strict=True):
            name = data[key : key + key_size]
            known = keys.get(name)
            if known is None:
                known = keys[name] = name.decode()
            value: Any = data[text : text + size].decode() if kind < 4 else number
            rows.append((value, known, kind))
        return rows

    def _make_room(self, count: int, size: int) -> None:
        """Makes the arrays larger, if need be to twice what they are, for so many terms and bytes more."""
        if self.count + count > self.numbers.size:
            room = max(2 * self.numbers.size, self.count + count)
            leaves = [np.concatenate([each, np.zeros(room - each.size, each.dtype)]) for each in self._leaves]
            self._leaves = Leaves._make(leaves)
            self.numbers, self.uses, self.widths = (
                np.concatenate([each, np.zeros(room - each.size, each.dtype)])
                for each in (self.numbers, self.uses, self.widths)
            )
        if self._size + size > self._data.size:
            room = max(2 * self._data.size, self._size + size)
            self._data = np.concatenate([self._data, np.zeros(room - self._data.size, np.uint8)])
        if 2 * (self.count + count) > self._slots.size:
            room = self._slots.size
            while room < 2 * (self.count + count):
                room *= 2
            self._slots = np.full(room, -1, np.int32)
            fill_slots(self._data, self._leaves, self._leaves.numbers.view(np.uint64), self.count, self._slots)
