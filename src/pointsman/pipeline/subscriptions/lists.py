"""What workers do: from columns of messages to the lists of subscriptions that they reach, a page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pointsman.subscriptions.columns import SubscriptionIndex

LEAST_IDS = 1 << 14
"""Ids of further pages that go to Spark in one array, if there are so many."""


@lru_cache(maxsize=8)
def opened_index(path: str) -> SubscriptionIndex:
    """The index in a file, mapped once in the life of a process; the driver has verified it."""
    from pointsman.subscriptions.columns import SubscriptionIndex

    return SubscriptionIndex.open(path, verify=False)


class Indexes:
    """Several indexes as one: positions go on from one to the next."""

    def __init__(self, indexes: Sequence[SubscriptionIndex]) -> None:
        import numpy as np
        import pyarrow as pa

        self._indexes = indexes
        self._bases = np.cumsum([0, *map(len, indexes)])[:-1].astype(np.int32)
        self.kind = indexes[0].ids.type
        """The type of the ids."""
        self._ids: Any = indexes[0].ids if len(indexes) == 1 else pa.chunked_array([index.ids for index in indexes])

    def rows(self, subjects: Any, metadata: Any, now: float | None) -> Iterator[Any]:
        """The ``Hits`` of each row, by position."""
        from pointsman.subscriptions.column_form.streams import side_by_side

        streams = [
            _moved(index.rows(subjects, metadata, now), base)
            for index, base in zip(self._indexes, self._bases, strict=True)
        ]
        return side_by_side(streams)

    def all(self) -> Any:
        """The ids of all positions, as one array."""
        import pyarrow as pa

        return pa.concat_arrays(self._ids.chunks) if isinstance(self._ids, pa.ChunkedArray) else self._ids

    def named(self, positions: Any) -> Any:
        """The ids at these positions, as one array."""
        import pyarrow as pa

        found = self._ids.take(pa.array(positions))
        if isinstance(found, pa.ChunkedArray):
            return pa.concat_arrays(found.chunks) if found.num_chunks else pa.nulls(0, self.kind)
        return found


def _moved(stream: Iterator[Any], base: Any) -> Iterator[Any]:
    """The hits with their ids counted on from a base."""
    for hits in stream:
        yield hits._replace(ids=hits.ids + base)


def first_pages(indexes: Indexes, subjects: Any, metadata: Any, now: float | None, page: int) -> Iterator[Any]:
    """For each message a struct: ``ids``, the first page of those that it reaches, and ``pages``, their number."""
    import numpy as np
    import pyarrow as pa

    for hits in indexes.rows(subjects, metadata, now):
        counts = np.diff(hits.offsets)
        ids, offsets = hits.ids, hits.offsets
        if counts.max(initial=0) > page:
            places = np.arange(ids.size) - np.repeat(hits.offsets[:-1], counts)
            ids = ids[places < page]
            offsets = np.concatenate([[0], np.cumsum(np.minimum(counts, page))])
        lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), indexes.named(ids))
        pages = pa.array((-(-counts // page)).astype(np.int32))
        yield pa.StructArray.from_arrays([lists, pages], ["ids", "pages"])


def further_pages(
    indexes: Indexes, subjects: Any, metadata: Any, now: float | None, pages: Any, page: int
) -> Iterator[Any]:
    """For each row the page of this number of what its message reaches, from 2 on; null for page 1.

    The rows of a message follow each other, so that it is resolved once for all of its pages in a column.
    """
    import numpy as np
    import pyarrow as pa

    numbers = pages.to_numpy(zero_copy_only=False)
    kind = pa.list_(indexes.kind)
    done = 0
    for begin, end in _runs(numbers):
        if begin > done:
            yield pa.nulls(begin - done, kind)
        reached = _all_of(indexes, subjects.slice(begin, 1), metadata.slice(begin, 1), now)
        # Small pages are handed on together: each array that goes to Spark has its price.
        together = max(1, LEAST_IDS // page)
        for first in range(int(numbers[begin]), int(numbers[end - 1]) + 1, together):
            last = min(first + together - 1, int(numbers[end - 1]))
            ids = reached[(first - 1) * page : last * page]
            offsets = np.minimum(np.arange(last - first + 2) * page, ids.size).astype(np.int32)
            yield pa.ListArray.from_arrays(pa.array(offsets), indexes.named(ids)).cast(kind)
        done = end
    if done < len(numbers):
        yield pa.nulls(len(numbers) - done, kind)


def _runs(numbers: Any) -> Iterator[tuple[int, int]]:
    """Where rows of one message begin and end that have a page after the first."""
    import numpy as np

    further = np.flatnonzero(numbers > 1)
    if further.size:
        fresh = (np.diff(further) > 1) | (np.diff(numbers[further]) != 1)
        begins = further[np.concatenate([[True], fresh])]
        ends = further[np.concatenate([fresh, [True]])] + 1
        yield from zip(begins.tolist(), ends.tolist(), strict=True)


def _all_of(indexes: Indexes, subject: Any, metadata: Any, now: float | None) -> Any:
    import numpy as np

    return np.concatenate([hits.ids for hits in indexes.rows(subject, metadata, now)])


def warmed(path: Path) -> bool:
    """Verifies a file and has compiled what workers will run of the kernels; whether subscriptions in it expire."""
    import pyarrow as pa

    from pointsman.subscriptions.columns import SubscriptionIndex

    index = SubscriptionIndex.open(path)
    metadata = pa.array([[("a", "b 1")], None], pa.map_(pa.string(), pa.string()))
    batch = pa.record_batch([pa.array(["a", None]), metadata], ["subject", "metadata"])
    # Through a stream, as the workers get it: compiled code tells buffers that can be written from those that cannot.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    read = pa.ipc.open_stream(sink.getvalue()).read_next_batch()
    for _ in index.rows(read.column(0), read.column(1), 0.0):
        pass
    return index.expires
