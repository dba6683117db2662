"""Arrow columns of text as the plain arrays that compiled code reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pointsman.errors import InputError


@dataclass(frozen=True, slots=True)
class Texts:
    """The UTF-8 bytes of all rows, where each row begins and ends, and which rows are not null."""

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    present: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        # Compiled code is compiled once more for each mix of arrays it may write to and arrays it may not.
        for array in (self.data, self.offsets, self.present):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.present)

    def text(self, row: int) -> str:
        """One row."""
        return bytes(self.data[self.offsets[row] : self.offsets[row + 1]]).decode()

    def folded(self) -> Texts:
        """With ASCII letters in lower case."""
        upper = (self.data >= 65) & (self.data <= 90)
        return Texts(self.data + (upper.astype(np.uint8) << np.uint8(5)), self.offsets, self.present)

    def slices(self, rows: int) -> Iterator[tuple[int, Texts]]:
        """Pieces of so many rows, each with the number of its first row. Nothing is copied."""
        for start in range(0, len(self), rows):
            stop = min(len(self), start + rows)
            yield start, Texts(self.data, self.offsets[start : stop + 1], self.present[start:stop])


def texts(column: pa.Array[Any]) -> Texts:
    """The rows of a string or large-string array, sliced or not.

    Raises ``InputError`` (``not-text``) for an array of another type.
    """
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise InputError("not-text", f"a column of subjects or patterns holds strings, not {column.type}")
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    _, offsets, data = column.buffers()
    if offsets is None or len(column) == 0:
        return Texts(np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.bool_))
    places = np.frombuffer(offsets, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    raw = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    nulls = column.null_count
    present = column.is_valid().to_numpy(zero_copy_only=False) if nulls else np.ones(len(column), np.bool_)
    return Texts(raw, places, present)


def as_array(values: Any) -> pa.Array[Any] | pa.ChunkedArray[Any]:
    """An Arrow array of whatever can be made one: an array, a chunked array, a list of texts."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowException, TypeError, UnicodeEncodeError) as error:
        raise InputError("not-text", f"this cannot be made a column of strings: {error}") from None


def chunks_of(values: Any) -> list[pa.Array[Any]]:
    """The arrays a column is made of: one, unless it is chunked; never none."""
    column = as_array(values)
    if isinstance(column, pa.ChunkedArray):
        return column.chunks or [pa.array([], column.type)]
    return [column]


def one_array(values: Any) -> pa.Array[Any]:
    """A column of any type as one array."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    return pa.concat_arrays(chunks_of(column)) if isinstance(column, pa.ChunkedArray) else column


def plain(column: pa.Array[Any] | pa.ChunkedArray[Any]) -> pa.Array[Any]:
    """One array of plain strings: chunks put together, dictionaries decoded."""
    array = one_array(column)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def packed(column: pa.Array[Any]) -> npt.NDArray[np.uint8]:
    """A column of any type as bytes, to be saved: an Arrow stream of one batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("id", column.type)])) as writer:
        writer.write_batch(pa.record_batch([column], ["id"]))
    return np.frombuffer(sink.getvalue(), np.uint8)


def unpacked(data: npt.NDArray[np.uint8]) -> pa.Array[Any]:
    """What ``packed`` gave, mapped from a file or not; nothing is copied."""
    return pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch().column(0)
