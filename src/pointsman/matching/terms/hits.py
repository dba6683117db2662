"""What was found for rows, handed on in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from pointsman.errors import InputError
from pointsman.matching.terms.kernels.compiled import Ids, Places, frozen

ROOM = 1 << 18
"""Ids in a piece of more than one row."""
MAX_PAIRS = 1 << 16
"""Pairs in a batch that is handed out, unless told otherwise."""


class Hits(NamedTuple):
    """All ids found for consecutive rows: those of row ``first + n`` are ``ids[offsets[n]:offsets[n + 1]]``."""

    first: int
    offsets: Places
    ids: Ids

    def batches(self, name: str, max_pairs: int) -> Iterator[Any]:
        """Record batches of ``row`` and the named id, none with more pairs than that."""
        schema = pa.schema([("row", pa.int64()), (name, pa.int32())])
        for start in range(0, self.ids.size, max_pairs):
            stop = min(self.ids.size, start + max_pairs)
            low = int(np.searchsorted(self.offsets, start, side="right")) - 1
            high = int(np.searchsorted(self.offsets, stop))
            within = np.clip(self.offsets[low : high + 1], start, stop)
            rows = np.repeat(np.arange(self.first + low, self.first + high), within[1:] - within[:-1])
            columns = [pa.array(rows), pa.array(self.ids[start:stop])]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def checked(max_pairs: int) -> int:
    """The size of a batch. Raises ``InputError`` (``bad-usage``) when it is not positive."""
    if max_pairs < 1:
        raise InputError("bad-usage", f"a batch holds at least one pair, not {max_pairs}")
    return max_pairs


def in_pieces(first: int, rows: int, most: int, fill: Callable[[int, Places, Ids], int]) -> Iterator[Hits]:
    """What ``fill(row, offsets, ids)`` writes for rows, from a row on, as far as there is room.

    ``fill`` returns how many rows it did; a row that has no room alone gets room for ``most``, which is enough for it.
    """
    done = 0
    while done < rows:
        offsets = np.empty(rows - done + 1, np.int64)
        ids = np.empty(min(most, ROOM), np.int32)
        count = fill(done, offsets, ids)
        if count == 0:
            ids = np.empty(most, np.int32)
            count = fill(done, offsets, ids)
        offsets = offsets[: count + 1]
        # What is kept for longer must not hold on to the room that was not needed.
        yield Hits(first + done, frozen(offsets), frozen(ids[: offsets[-1]].copy()))
        done += count
