"""A compiled index that remembers what it found: subjects that come again from column to column are matched once."""

from __future__ import annotations

import secrets
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from pointsman.matching import kernel_match, kernel_remember
from pointsman.matching.columns import Texts, texts
from pointsman.matching.compiled import CompiledIndex, check_size

MOST_TEXTS = 1 << 17
MOST_BYTES = 1 << 23
MOST_NUMBERS = 1 << 22
"""What is remembered at the most: subjects, the bytes of them, and the numbers of the patterns that match them."""
JUDGED = 1 << 13
"""Rows after which it is seen whether they repeat."""
LONGEST_REST = 1 << 15
"""Rows for which nothing is looked up at the most, after none of them did."""


class RememberingIndex:
    """Gives what ``CompiledIndex.match`` gives, sooner where subjects repeat. Safe between threads.

    What is remembered has room for 131,072 subjects; when it is full it is forgotten as a whole. Where more than half
    of the subjects are new, nothing is looked up for a while: at first for as many rows as were tried, then for twice
    as many each time, up to four times as many: the next column may be of other messages, whose subjects do repeat.
    """

    def __init__(self, index: CompiledIndex) -> None:
        self._index = index
        self._seed = np.uint64(secrets.randbits(63))
        self._lock = Lock()
        self._slots = np.empty(2 * MOST_TEXTS, np.int32)
        self._hashes = np.empty(MOST_TEXTS, np.uint64)
        self._text_offsets = np.zeros(MOST_TEXTS + 1, np.int64)
        self._text_bytes = np.empty(MOST_BYTES, np.uint8)
        self._list_offsets = np.zeros(MOST_TEXTS + 1, np.int64)
        self._valid = np.zeros(MOST_TEXTS + 1, np.bool_)
        self._values = np.empty(0, np.int32)
        self._known = 0
        self._asked = self._new = self._rest = 0
        self._next_rest = JUDGED
        self._forget()

    def __len__(self) -> int:
        return len(self._index)

    def match(self, subjects: pa.Array[Any]) -> pa.ListArray[Any]:
        """As ``CompiledIndex.match`` for one array of strings or large strings."""
        with self._lock:
            if self._rest > 0:
                self._rest -= len(subjects)
                return self._index.match(subjects)
            found = None
            try:
                found = self._match(texts(subjects))
            finally:
                if found is None:
                    self._forget()
            self._judge()
        return self._index.match(subjects) if found is None else found

    def _match(self, rows: Texts) -> pa.ListArray[Any] | None:
        """The lists; None where there is no room to remember them."""
        numbers = np.empty(len(rows), np.int32)
        known = kernel_remember.number_texts(
            rows.data,
            rows.offsets,
            rows.present,
            self._seed,
            self._slots,
            self._hashes,
            self._text_offsets,
            self._text_bytes,
            self._known,
            numbers,
        )
        self._asked += len(rows)
        self._new += known - self._known if known >= 0 else len(rows)
        if known < 0 or not self._learn(known):
            return None
        starts = np.empty(len(rows) + 1, np.int64)
        kernel_remember.place_lists(numbers, self._list_offsets, starts)
        check_size(starts[-1])
        values = np.empty(starts[-1], np.int32)
        kernel_match.spread_lists(numbers, self._list_offsets, self._values, starts, values)
        # The last one is that of a row without a text, and false.
        return self._index.listed(starts, values, self._valid[numbers])

    def _learn(self, known: int) -> bool:
        """Matches the texts that are new; false where there is no room for what is found."""
        before = self._known
        if known == before:
            return True
        new = Texts(self._text_bytes.view(), self._text_offsets[before : known + 1], np.ones(known - before, np.bool_))
        starts, values, valid = self._index.numbers(new)
        first = self._list_offsets[before]
        stop = first + len(values)
        if stop > MOST_NUMBERS:
            return False
        if stop > len(self._values):
            self._values = np.concatenate([self._values[:first], np.empty(2 * stop - first, np.int32)])
        self._values[first:stop] = values
        self._list_offsets[before + 1 : known + 1] = starts[1:] + first
        self._valid[before:known] = valid
        self._known = known
        return True

    def _judge(self) -> None:
        if self._asked < JUDGED:
            return
        if 2 * self._new > self._asked:
            self._rest = self._next_rest
            self._next_rest = min(2 * self._next_rest, LONGEST_REST)
        else:
            self._next_rest = JUDGED
        self._asked = self._new = 0

    def _forget(self) -> None:
        self._slots[:] = -1
        self._known = 0
        self._values = np.empty(0, np.int32)
