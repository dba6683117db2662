"""Pieces of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pointsman.subscriptions.bulk.pieces import Distinct, Piece, with_dialects
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
    ids, owners, conditions = batch.column("id"), batch.column("owner"), batch.column("condition")
    destinations = Distinct.of(
        [None if each is None else tuple(each) for each in batch.column("destinations").to_pylist()]
    )
    has = np.asarray(conditions.is_valid().to_numpy(zero_copy_only=False))
    offsets, data = _texts(conditions)

    def read(row: int) -> WildcardSubscription:
        return next(read_rows(batch.slice(row, 1), name, before + row, limits)).subscription

    plain = np.asarray(ids.is_valid().to_numpy(zero_copy_only=False)) & (destinations.codes >= 0)
    return Piece(
        before + len(batch),
        ids.fill_null("").to_pylist(),
        _distinct(owners),
        destinations,
        with_dialects(_distinct(batch.column("pattern")), _distinct(batch.column("dialect"))),
        batch.column("enabled").fill_null(True).to_numpy(zero_copy_only=False),
        batch.column("expires").fill_null(np.inf).to_numpy(zero_copy_only=False),
        batch.column("description").to_pylist(),
        data,
        np.where(has, offsets[:-1], -1),
        offsets[1:],
        plain,
        np.ones(len(batch), np.bool_),
        read,
    )


def _distinct(column: Any) -> Distinct:
    encoded = column.dictionary_encode()
    return Distinct(
        encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32), encoded.dictionary.to_pylist()
    )


def _texts(column: Any) -> tuple[Any, Any]:
    """Where the texts of a column begin in its data, and end, and the data."""
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return places.astype(np.int64), np.frombuffer(b"" if data is None else data, np.uint8)
