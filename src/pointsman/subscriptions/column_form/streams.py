"""What was found for rows by several searches, side by side, in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pointsman.matching.terms.hits import ROOM, Hits
from pointsman.matching.terms.kernels.compiled import Places, frozen


def nothing(rows: int) -> Iterator[Hits]:
    """For so many rows, no ids."""
    if rows:
        yield Hits(0, frozen(np.zeros(rows + 1, np.int64)), frozen(np.empty(0, np.int32)))


def cuts(counts: Places, room: int = ROOM) -> Iterator[tuple[int, int]]:
    """Stretches of rows that have so many ids together at the most; a row that has more stands alone."""
    ends = np.cumsum(counts)
    first = 0
    while first < counts.size:
        before = int(ends[first - 1]) if first else 0
        stop = max(first + 1, int(np.searchsorted(ends, before + room, side="right")))
        yield first, stop
        first = stop


def spread(starts: Places, sizes: Places) -> Places:
    """The numbers of ranges, one range after the other.

    >>> spread(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def side_by_side(streams: Sequence[Iterator[Hits]]) -> Iterator[Hits]:
    """For each row the ids of all streams, those of the first stream first; all of them have the same rows.

    Nothing is held but one piece of each stream.
    """
    if len(streams) == 1:
        yield from streams[0]
        return
    pieces = [next(stream, None) for stream in streams]
    row = 0
    while (present := [piece for piece in pieces if piece is not None]) and len(present) == len(streams):
        stop = min(piece.first + piece.offsets.size - 1 for piece in present)
        yield _joined(present, row, stop)
        row = stop
        pieces = [
            next(stream, None) if piece.first + piece.offsets.size - 1 == stop else piece
            for stream, piece in zip(streams, present, strict=True)
        ]


def _joined(pieces: Sequence[Hits], row: int, stop: int) -> Hits:
    """The rows of all pieces from one row to another."""
    bounds = [piece.offsets[row - piece.first : stop - piece.first + 1] for piece in pieces]
    counts = [np.diff(each) for each in bounds]
    offsets = np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))]).astype(np.int64)
    ids = np.empty(int(offsets[-1]), np.int32)
    cursor = offsets[:-1].copy()
    for piece, each, count in zip(pieces, bounds, counts, strict=True):
        ids[spread(cursor, count)] = piece.ids[each[0] : each[-1]]
        cursor += count
    return Hits(row, frozen(offsets), frozen(ids))
