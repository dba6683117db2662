"""Reading columns of metadata: blocks of rows as the distinct texts in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pointsman.errors import MessageError
from pointsman.matching.terms.build import distinct, text_arrays
from pointsman.matching.terms.kernels.arrays import Texts
from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Places, frozen
from pointsman.matching.terms.kernels.lexeme import find_lexemes
from pointsman.matching.terms.kernels.rows import label_values
from pointsman.matching.terms.lexemes import lexeme_places

BLOCK_BYTES = 1 << 22
"""Bytes of values in a block of more than one row."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One Arrow array of metadata as plain arrays."""

    row_offsets: Places
    labels: Ids
    """The key of each value; -1 for a value that interests no term."""
    data: Bytes
    offsets: Places
    kinds: Ids

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.row_offsets.size - 1

    def cut(self, row: int, rows: int) -> int:
        """Where a block ends that begins with the row: after so many rows, or where it has bytes enough."""
        stop = min(self.rows, row + rows)
        limit = self.offsets[self.row_offsets[row]] + BLOCK_BYTES
        fitting = np.searchsorted(self.offsets[self.row_offsets[row : stop + 1]], limit, side="right") - 1
        return row + max(1, int(fitting))

    def texts(self, row: int, stop: int) -> Texts:
        """The distinct texts of the rows."""
        first, last = self.row_offsets[row], self.row_offsets[stop]
        begins, ends = self.offsets[first:last], self.offsets[first + 1 : last + 1]
        labels = self.labels[first:last]
        value_texts, firsts = distinct(labels, begins, ends, self.data)
        begins, ends, keys = begins[firsts], ends[firsts], labels[firsts]
        lexeme_offsets, places = self._lexemes(begins, ends, (self.kinds[2 * keys + 1] | self.kinds[1]) != 0)
        spaces = np.repeat(2 * keys + 1, np.diff(lexeme_offsets)).astype(np.int32)
        lexeme_begins, lexeme_ends = places[::2], places[1::2]
        lexeme_texts, lexeme_firsts = distinct(spaces, lexeme_begins, lexeme_ends, self.data)
        return Texts(
            row_offsets=frozen(self.row_offsets[row : stop + 1] - first),
            value_texts=frozen(value_texts),
            lexeme_offsets=frozen(lexeme_offsets),
            lexeme_texts=frozen(lexeme_texts),
            data=self.data,
            begins=frozen(np.concatenate([begins, lexeme_begins[lexeme_firsts]])),
            ends=frozen(np.concatenate([ends, lexeme_ends[lexeme_firsts]])),
            spaces=frozen(np.concatenate([2 * keys, spaces[lexeme_firsts]])),
        )

    def _lexemes(self, begins: Places, ends: Places, wanted: Flags) -> tuple[Places, Places]:
        """Where the lexemes of each text begin among all lexemes, and the begin and end of each lexeme in turns."""
        offsets = np.zeros(begins.size + 1, np.int64)
        if not wanted.any():
            return offsets, np.empty(0, np.int64)
        counts = np.empty(begins.size, np.int64)
        places = np.empty(int((ends - begins).sum()) + 2 * begins.size, np.int64)
        total = find_lexemes(self.data, frozen(begins), frozen(ends), frozen(wanted), counts, places)
        places = places[: 2 * total]
        beyond_ascii = counts < 0
        if beyond_ascii.any():
            others: list[int] = []
            for text in np.flatnonzero(beyond_ascii):
                begin, end = int(begins[text]), int(ends[text])
                found = lexeme_places(self.data[begin:end].tobytes().decode(), begin)
                counts[text] = len(found) // 2
                others += found
            from_others = np.repeat(beyond_ascii, 2 * counts)
            merged = np.empty(from_others.size, np.int64)
            merged[from_others] = others
            merged[~from_others] = places
            places = merged
        np.cumsum(counts, out=offsets[1:])
        return offsets, places


def read_chunks(metadata: Any, key_ids: Mapping[str, int], kinds: Ids) -> Iterator[Chunk]:
    """The chunks of a column of maps from text to text, sliced or not.

    Raises ``MessageError`` (``bad-message``) for a column of another type.
    """
    chunks = metadata.chunks if isinstance(metadata, pa.ChunkedArray) else [metadata]
    for chunk in chunks:
        if not isinstance(chunk, pa.MapArray):
            raise MessageError("bad-message", f"a column of metadata holds maps of texts, not {_kind(chunk)}")
        if len(chunk):
            yield _read(chunk, key_ids, kinds)


def _kind(chunk: Any) -> str:
    return str(chunk.type) if isinstance(chunk, pa.Array) else type(chunk).__name__


def _read(chunk: Any, key_ids: Mapping[str, int], kinds: Ids) -> Chunk:
    row_offsets = chunk.offsets.to_numpy().astype(np.int64)
    first, size = row_offsets[0], row_offsets[-1] - row_offsets[0]
    row_offsets = row_offsets - first
    try:
        keys = chunk.keys.slice(first, size).cast(pa.large_string()).dictionary_encode()
        values = chunk.items.slice(first, size).cast(pa.large_string())
    except pa.ArrowException:
        raise MessageError("bad-message", f"a column of metadata holds maps of texts, not {chunk.type}") from None
    ids = np.array([key_ids.get(key, 0) for key in keys.dictionary.to_pylist()], np.int32)
    value_keys = ids[keys.indices.to_numpy(zero_copy_only=False)] if size else np.empty(0, np.int32)
    present = chunk.is_valid().to_numpy(zero_copy_only=False)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    labels = np.empty(size, np.int32)
    label_values(row_offsets, present, valid, value_keys, kinds, labels)
    data, offsets = text_arrays(values)
    return Chunk(row_offsets, labels, data, offsets, kinds)
