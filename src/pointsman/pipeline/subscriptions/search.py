"""Finding the subscriptions that messages reach: the columns that go to Python, and what workers do with them.

Only the subject and the metadata of a message go to Python, and a list comes back for each row. Where a message may
reach more than a page holds, it is a row for each page: the first one carries the subject and the metadata, and the
rows after it get what is left, page by page. So neither Python nor Java ever holds the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import LimitError
from pointsman.pipeline.columns import MessageColumns, arrow_column
from pointsman.pipeline.spark.kind import shipped
from pointsman.pipeline.subscriptions.frame import shard_of_subject

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions
    from pointsman.subscriptions.columns import SubscriptionIndex

PAGE, SHARD = "pointsman_page", "pointsman_shard"
FIRST_ROWS = 1 << 6
MOST_ROWS = 1 << 16
MOST_IDS = 1 << 20
"""Ids that patterns are asked for at once, at most; a subject that matches more is asked for alone."""


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
            shard = shard_of_subject(MessageColumns(messages, ["subject"]).subject, shards)
            paged = messages.withColumn(SHARD, shard).repartitionById(shards, SHARD)
        if self.pages == 1:
            return paged.withColumn(PAGE, sf.lit(1))
        numbers = sf.when(wanted, sf.sequence(sf.lit(1), sf.lit(self.pages))).otherwise(sf.array(sf.lit(1)))
        return paged.select("*", sf.explode(numbers).alias(PAGE))

    def column(self, rows: DataFrame, wanted: Column, now: Column, kind: Any) -> Column:
        """The list of each of the ``rows``, of this type. Only what is needed for it goes to Python."""
        from pyspark.sql import functions as sf

        columns = MessageColumns(rows, ("subject", "metadata") if self.subscriptions.needs_metadata else ["subject"])
        first = wanted & (rows[PAGE] == 1)
        needed = {"subject": sf.when(first, columns.subject)}
        if self.subscriptions.needs_metadata:
            needed["metadata"] = sf.when(first, columns.metadata)
        if self.pages > 1:
            needed["page"] = rows[PAGE]
        if self.subscriptions.shards:
            needed["shard"] = rows[SHARD]
        if self.subscriptions.expires:
            needed["now"] = now
        return arrow_column(partial(self.lists, names=tuple(needed)), kind, *needed.values())

    # -- what workers do

    def lists(self, batches: Iterator[Any], names: Sequence[str]) -> Iterator[Any]:
        """The lists of all rows, in Arrow arrays of a bounded size; ``names`` are those of the columns."""
        import numpy as np
        import pyarrow as pa

        rest = Found(np.zeros(1, np.int64), (), tuple)
        for each in batches:
            columns = dict(zip(names, each if isinstance(each, tuple) else (each,), strict=True))
            size = len(columns["subject"])
            numbers = columns["page"].to_numpy().astype(np.int64) if "page" in columns else np.ones(size, np.int64)
            begins = np.append(np.flatnonzero(numbers == 1), size)
            if begins[0]:
                # The pages of a message may go on in the next batch.
                rest = yield from self._pages(rest, numbers[: begins[0]])
            if self.pages > 1:
                columns = {name: column.take(pa.array(begins[:-1])) for name, column in columns.items()}
            message = 0
            for found in self._found(columns):
                after = message + len(found.offsets) - 1
                rest = yield from self._pages(found, numbers[begins[message] : begins[after]])
                message = after

    def search(self, indexes: Indexes, subjects: Any, metadata: Any, now: float | None) -> Iterator[Found]:
        """What messages reach, in pieces."""
        for hits in indexes.rows(subjects, metadata, now):
            yield Found(hits.offsets, hits.ids, indexes.named)

    def _found(self, columns: Mapping[str, Any]) -> Iterator[Found]:
        import numpy as np

        size = len(columns["subject"])
        shards = columns["shard"].to_numpy() if "shard" in columns else np.zeros(size, np.int32)
        starts = np.flatnonzero(np.diff(shards, prepend=-1)).tolist()
        for start, stop in pairwise([*starts, size]):
            own = self.subscriptions.shards[shards[start]] if self.subscriptions.shards else None
            names = (own, *self.subscriptions.common)
            indexes = opened(tuple(shipped(name) for name in names if name is not None))
            part = {name: column.slice(start, stop - start) for name, column in columns.items()}
            now = part["now"][0].as_py() if "now" in part else None
            yield from self.search(indexes, part["subject"], part.get("metadata"), now)

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

        self._searches = [(PatternSearch(each) if has_only_patterns(each) else each).rows for each in indexes]
        self._bases = np.cumsum([0, *map(len, indexes)])[:-1].astype(np.int32)
        self.ids = pa.chunked_array([index.ids for index in indexes])

    def rows(self, subjects: Any, metadata: Any, now: float | None) -> Iterator[Any]:
        """The ``Hits`` of each row, by position."""
        from pointsman.subscriptions.column_form.streams import side_by_side

        def moved(search: Callable[..., Iterator[Any]], base: Any) -> Iterator[Any]:
            for hits in search(subjects, metadata, now):
                yield hits._replace(ids=hits.ids + base)

        return side_by_side([moved(*each) for each in zip(self._searches, self._bases, strict=True)])

    def named(self, positions: Any) -> Any:
        """The ids at these positions, as one array."""
        import pyarrow as pa

        return self.ids.take(pa.array(positions)).combine_chunks()


def has_only_patterns(index: SubscriptionIndex) -> bool:
    """Whether each subscription of an index has a pattern and nothing else."""
    import numpy as np

    return index.patterns is not None and not (
        needs_metadata(index) or index.expires or np.diff(index.programs.offsets).max(initial=0) > 1
    )


def needs_metadata(index: SubscriptionIndex) -> bool:
    """Whether a subscription of an index has a condition."""
    return len(index.terms) > 0 or index.comparisons.keys.size > 0


class PatternSearch:
    """Finds subscriptions that have nothing but a pattern by the subject alone, which is faster.

    It remembers the subjects of all batches and tasks that a process gets.
    """

    def __init__(self, index: SubscriptionIndex) -> None:
        import numpy as np

        from pointsman.matching.remembered import RememberingIndex

        self._index: Any = RememberingIndex(index.patterns)  # type: ignore[arg-type]  # it has some
        self._filed = index.programs.filed
        self._starts = index.programs.filed_offsets[:-1]
        self._counts = np.diff(index.programs.filed_offsets)
        self._rows = FIRST_ROWS

    def rows(self, subjects: Any, _: Any = None, __: float | None = None) -> Iterator[Any]:
        """As ``SubscriptionIndex.rows``.

        It looks at few rows first and at more as long as few subscriptions match, so that memory stays flat.
        """
        import numpy as np

        from pointsman.matching.terms.hits import Hits
        from pointsman.subscriptions.column_form.streams import spread

        first = 0
        while first < len(subjects):
            try:
                found = self._index.match(subjects.slice(first, self._rows))
            except LimitError:
                if self._rows == 1:
                    raise
                self._rows //= 2
                continue
            patterns = found.values.to_numpy()
            counts = self._counts[patterns]
            ids = self._filed[spread(self._starts[patterns], counts)]
            yield Hits(first, np.append(0, np.cumsum(counts))[found.offsets.to_numpy()], ids)
            first += len(found)
            fitting = len(found) * MOST_IDS // max(len(ids), 1)
            self._rows = max(1, min(fitting, 8 * self._rows, MOST_ROWS))


@lru_cache(maxsize=8)
def opened(paths: tuple[str, ...]) -> Indexes:
    """The indexes in files, mapped once in the life of a process; the driver has verified them."""
    from pointsman.subscriptions.columns import SubscriptionIndex

    return Indexes([SubscriptionIndex.open(path, verify=False) for path in paths])


def verified(path: Path) -> SubscriptionIndex:
    """The index in a file. Also compiles the kernels that workers will run."""
    import pyarrow as pa

    from pointsman.subscriptions.columns import SubscriptionIndex

    index = SubscriptionIndex.open(path)
    metadata = pa.array([[("a", "b 1")], None], pa.map_(pa.string(), pa.string()))
    batch = pa.record_batch([pa.array(["a", None]), metadata], ["subject", "metadata"])
    # Through a stream, as workers get it: compiled code tells buffers that can be written from those that cannot.
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    read = pa.ipc.open_stream(sink.getvalue()).read_next_batch()
    for search in (index, PatternSearch(index)) if has_only_patterns(index) else (index,):
        for _ in search.rows(read.column(0), read.column(1), 0.0):
            pass
    return index
