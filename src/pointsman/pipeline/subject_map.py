"""What the workers do with a column of texts: each distinct one is asked about once in a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

REMEMBERED = 1 << 15
"""Answers that a worker keeps from one batch to the next, those used last."""


def texts(column: pa.Array[Any]) -> list[str | None]:
    """The texts of a column, or of the values of a dictionary.

    A text of Spark may hold bytes that are no UTF-8; each of them becomes a lone surrogate, which no dialect allows.
    """
    import pyarrow as pa

    try:
        found: list[str | None] = column.to_pylist()
        return found
    except UnicodeDecodeError:
        wide = pa.types.is_large_string(column.type)
        raw = column.view(pa.large_binary() if wide else pa.binary()).to_pylist()
        return [None if each is None else each.decode(errors="surrogateescape") for each in raw]


def map_texts(column: pa.Array[Any], make: Callable[[str], object], kind: pa.DataType) -> pa.Array[Any]:
    """What ``make`` gives for each text, of this type; null where the text is null."""
    import pyarrow as pa

    known = column.dictionary_encode()
    made = [None if text is None else make(text) for text in texts(known.dictionary)]
    return pa.array(made, kind).take(known.indices)


def map_pairs(
    left: pa.Array[Any], right: pa.Array[Any], make: Callable[[str, str], object], kind: pa.DataType
) -> pa.Array[Any]:
    """What ``make`` gives for each row of two columns of texts, of this type; null where one of them is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    one, other = left.dictionary_encode(), right.dictionary_encode()
    width = max(len(other.dictionary), 1)
    pairs = pc.add(pc.multiply(one.indices.cast(pa.int64()), width), other.indices.cast(pa.int64())).dictionary_encode()
    made = _of_pairs(pairs.dictionary.to_pylist(), width, texts(one.dictionary), texts(other.dictionary), make)
    return pa.array(made, kind).take(pairs.indices)


def _of_pairs(
    pairs: Sequence[int],
    width: int,
    one: Sequence[str | None],
    other: Sequence[str | None],
    make: Callable[[str, str], object],
) -> list[object]:
    made: list[object] = []
    for pair in pairs:
        first, second = one[pair // width], other[pair % width]
        made.append(None if first is None or second is None else make(first, second))
    return made
