"""Finding the subscriptions that messages reach: the columns that go to Python, and what workers do with them.

Only the subject and the metadata of a message go to Python, and a list comes back for each row. Where a message may
reach more than a page holds, it is a row for each page: the first one carries the subject and the metadata, and the
rows after it get what is left, page by page. So neither Python nor Java ever holds the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.pipeline.columns import MessageColumns, arrow_column
from pointsman.pipeline.spark.kind import shipped
from pointsman.pipeline.subscriptions.frame import shard_of_subject

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions
    from pointsman.subscriptions.columns import SubscriptionIndex

PAGE, SHARD = "pointsman_page", "pointsman_shard"


class Found(NamedTuple):
    """What some messages reach: items in one sequence, and where those of each message begin and end."""

    offsets: Any
    items: Any
    show: Callable[[Any], Any]
    """From items to the Arrow array that goes to Spark."""


class Search:
    """Finds the ids of the subscriptions that messages reach."""

    def __init__(self, subscriptions: CompiledSubscriptions, page: int) -> None:
        self.subscriptions = subscriptions
        self.page = page
        self.pages = max(1, -(-subscriptions.count // page))

    def rows(self, messages: DataFrame, wanted: Column) -> DataFrame:
        """The messages with ``PAGE`` and ``SHARD``, each in the partition of its shard; several rows if wanted."""
        from pyspark.sql import functions as sf

        self.subscriptions.ship(messages.sparkSession)
        shards = len(self.subscriptions.shards)
        paged = messages.withColumn(SHARD, sf.lit(0))
        if shards:
            shard = shard_of_subject(MessageColumns(messages).subject, shards)
            paged = messages.withColumn(SHARD, shard).repartitionById(shards, SHARD)
        if self.pages == 1:
            return paged.withColumn(PAGE, sf.lit(1))
        numbers = sf.when(wanted, sf.sequence(sf.lit(1), sf.lit(self.pages))).otherwise(sf.array(sf.lit(1)))
        return paged.select("*", sf.explode(numbers).alias(PAGE))

    def column(self, rows: DataFrame, wanted: Column, now: Column, kind: Any) -> Column:
        """The list of each of the ``rows``, of this type."""
        from pyspark.sql import functions as sf

        columns = MessageColumns(rows)
        first = wanted & (rows[PAGE] == 1)
        moment = now if self.subscriptions.expires else sf.lit(None).cast("double")
        sent = (sf.when(first, columns.subject), sf.when(first, columns.metadata))
        return arrow_column(self.lists, kind, *sent, rows[PAGE], rows[SHARD], moment)

    # -- what workers do

    def lists(self, batches: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
        """The lists of all rows, in Arrow arrays of a bounded size."""
        import numpy as np
        import pyarrow as pa

        rest = Found(np.zeros(1, np.int64), (), tuple)
        for *columns, pages, shards, now in batches:
            numbers = pages.to_numpy(zero_copy_only=False).astype(np.int64)
            begins = np.append(np.flatnonzero(numbers == 1), len(numbers))
            if begins[0]:
                # The pages of a message may go on in the next batch.
                rest = yield from self._pages(rest, numbers[: begins[0]])
            asked = (*columns, shards, now)
            if self.pages > 1:
                asked = tuple(each.take(pa.array(begins[:-1])) for each in asked)
            message = 0
            for found in self._found(*asked):
                after = message + len(found.offsets) - 1
                rest = yield from self._pages(found, numbers[begins[message] : begins[after]])
                message = after

    def search(self, indexes: Indexes, subjects: Any, metadata: Any, now: float | None) -> Iterator[Found]:
        """What messages reach, in pieces."""
        for hits in indexes.rows(subjects, metadata, now):
            yield Found(hits.offsets, hits.ids, indexes.named)

    def _found(self, subjects: Any, metadata: Any, shards: Any, now: Any) -> Iterator[Found]:
        import numpy as np

        numbers = shards.to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
        for start, stop in pairwise([*starts, len(numbers)]):
            own = self.subscriptions.shards[numbers[start]] if self.subscriptions.shards else None
            names = (own, *self.subscriptions.common)
            indexes = opened(tuple(shipped(name) for name in names if name is not None))
            size = stop - start
            yield from self.search(
                indexes, subjects.slice(start, size), metadata.slice(start, size), now[start].as_py()
            )

    def _pages(self, found: Found, numbers: Any) -> Generator[Any, None, Found]:
        """The lists of rows whose pages have these numbers; returns what is left of the last message."""
        import numpy as np
        import pyarrow as pa

        from pointsman.subscriptions.column_form.streams import cuts

        offsets, items, show = found
        message = np.cumsum(numbers == numbers[0]) - 1
        begin, end = offsets[message], offsets[message + 1]
        # The last page has all that is left.
        through = begin + (numbers - numbers[0] + 1) * self.page
        ends = np.append(offsets[:1], np.where(numbers == self.pages, end, np.minimum(through, end)))
        for start, stop in cuts(np.diff(ends)):
            first, last = ends[start], ends[stop]
            places = pa.array((ends[start : stop + 1] - first).astype(np.int32))
            yield pa.ListArray.from_arrays(places, show(items[first:last]))
        left = items[ends[-1] : offsets[-1]]
        return Found(np.array([0, len(left)]), left, show)


class Indexes:
    """Several indexes as one: positions go on from one to the next."""

    def __init__(self, indexes: Sequence[SubscriptionIndex]) -> None:
        import numpy as np
        import pyarrow as pa

        self._indexes = indexes
        self._bases = np.cumsum([0, *map(len, indexes)])[:-1].astype(np.int32)
        self.ids = pa.chunked_array([index.ids for index in indexes])

    def rows(self, subjects: Any, metadata: Any, now: float | None) -> Iterator[Any]:
        """The ``Hits`` of each row, by position."""
        from pointsman.subscriptions.column_form.streams import side_by_side

        def moved(index: SubscriptionIndex, base: Any) -> Iterator[Any]:
            for hits in index.rows(subjects, metadata, now):
                yield hits._replace(ids=hits.ids + base)

        return side_by_side([moved(*each) for each in zip(self._indexes, self._bases, strict=True)])

    def named(self, positions: Any) -> Any:
        """The ids at these positions, as one array."""
        import pyarrow as pa

        return self.ids.take(pa.array(positions)).combine_chunks()


@lru_cache(maxsize=8)
def opened(paths: tuple[str, ...]) -> Indexes:
    """The indexes in files, mapped once in the life of a process; the driver has verified them."""
    from pointsman.subscriptions.columns import SubscriptionIndex

    return Indexes([SubscriptionIndex.open(path, verify=False) for path in paths])


def warmed(path: Path) -> bool:
    """Verifies a file and compiles the kernels that workers will run; returns whether subscriptions in it expire."""
    import pyarrow as pa

    from pointsman.subscriptions.columns import SubscriptionIndex

    index = SubscriptionIndex.open(path)
    metadata = pa.array([[("a", "b 1")], None], pa.map_(pa.string(), pa.string()))
    batch = as_received(pa.record_batch([pa.array(["a", None]), metadata], ["subject", "metadata"]))
    for _ in index.rows(batch.column(0), batch.column(1), 0.0):
        pass
    return index.expires


def as_received(batch: Any) -> Any:
    """A record batch as workers get it: compiled code tells buffers that can be written from those that cannot."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch()
