"""Pieces of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pointsman.subscriptions.bulk.pieces import Distinct, Piece, with_dialects
from pointsman.subscriptions.bulk.terms import number_texts
from pointsman.subscriptions.bulk.texts import Texts
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.parquet import ROWS, read_batches, read_rows


def row_pieces(file: Any, name: str, limits: Limits, skip: int = 0, most: int | None = None) -> Iterator[Piece]:
    """The pieces of an open file, after the first ``skip`` rows, each of up to ``most``. Raises ``InputError``."""
    before = 0
    for batch in read_batches(file, name, ROWS if most is None else min(most, ROWS)):
        first = min(max(0, skip - before), len(batch))
        if first < len(batch):
            yield _row_piece(batch.slice(first), name, before + first, limits)
        before += len(batch)


def _row_piece(batch: Any, name: str, before: int, limits: Limits) -> Piece:
    ids, conditions = _texts(batch.column("id")), _texts(batch.column("condition"))
    destinations = _distinct_lists(batch.column("destinations"))

    def read(row: int) -> WildcardSubscription:
        return next(read_rows(batch.slice(row, 1), name, before + row, limits)).subscription

    return Piece(
        before + len(batch),
        ids,
        _distinct(batch.column("owner")),
        destinations,
        with_dialects(_distinct(batch.column("pattern")), _distinct(batch.column("dialect"))),
        batch.column("enabled").fill_null(True).to_numpy(zero_copy_only=False),
        batch.column("expires").fill_null(np.inf).to_numpy(zero_copy_only=False),
        _distinct(batch.column("description")),
        conditions.data,
        conditions.begins,
        conditions.ends,
        (ids.begins >= 0) & (destinations.codes >= 0),
        np.ones(len(batch), np.bool_),
        read,
    )


def _distinct(column: Any) -> Distinct:
    encoded = column.dictionary_encode()
    return Distinct(
        encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32), encoded.dictionary.to_pylist()
    )


def _distinct_lists(column: Any) -> Distinct:
    """A column of lists of texts, as tuples; lists are the same whose texts have the same codes."""
    texts = _distinct(column.values)
    offsets = column.offsets.to_numpy().astype(np.int64)
    has = column.is_valid().to_numpy(zero_copy_only=False)
    begins, size = np.where(has, offsets[:-1], -1), texts.codes.itemsize
    codes, firsts = np.zeros(begins.size, np.int32), np.zeros(begins.size, np.int32)
    firsts = firsts[: number_texts(texts.codes.view(np.uint8), begins * size, offsets[1:] * size, codes, firsts)]
    return Distinct(codes, [tuple(column[first].as_py()) for first in firsts.tolist()])


def _texts(column: Any) -> Texts:
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    has = column.is_valid().to_numpy(zero_copy_only=False)
    return Texts(np.frombuffer(b"" if data is None else data, np.uint8), np.where(has, places[:-1], -1), places[1:])
