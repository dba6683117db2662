"""The stage ``resolve`` for subscriptions with conditions: from subjects and metadata to those who want the message.

    messages ─▶ first page ─┬─▶ one row a subscription
                            └─▶ further pages, for what reaches more than a page holds

Only the subject and the metadata go to Python. A message that reaches more subscriptions than a page holds comes there
again, a row for each of its further pages: so neither Python nor Java ever holds more than a page of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError
from pointsman.pipeline.columns import PROBLEM, MessageColumns, find, is_fine, refuse_columns
from pointsman.pipeline.spark.kind import refuse_connect_stream, shipped
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions
from pointsman.pipeline.subscriptions.frame import ID, shard_of_subject
from pointsman.pipeline.subscriptions.lists import Indexes, first_pages, further_pages, opened_index

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOUND, PAGE, SHARD = "pointsman_found", "pointsman_page", "pointsman_shard"
MOST_IN_A_PAGE = 1 << 20
"""Subscriptions of one message in a page, unless told otherwise. A table of no more needs no further pages at all."""


def resolve_conditions(
    messages: DataFrame,
    subscriptions: CompiledSubscriptions,
    *,
    page: int = MOST_IN_A_PAGE,
    now: float | None = None,
) -> DataFrame:
    """One row for each message and each subscription that it reaches: the message's columns and ``subscription_id``.

    ``messages`` needs ``subject``, and has ``metadata`` or none. A message whose subject is NULL, or invalid, reaches
    those subscriptions that have no pattern; one that has a ``problem`` reaches nobody. ``page`` is how many
    subscriptions of one message are handled at a time. ``now`` (seconds since 1970) says which subscriptions have
    expired; unless given it is Spark's ``current_timestamp``, which a stream takes for each micro-batch, and keeps when
    it repeats one.

    Raises ``InputError``: ``bad-usage`` for columns that cannot be used and a page of nothing,
    ``classic-session-needed`` for a stream on Spark Connect.
    """
    from pyspark.sql import functions as sf

    if page < 1:
        raise InputError("bad-usage", f"a page holds at least one subscription, not {page}")
    refuse_columns(messages, ID)
    refuse_connect_stream(messages, "resolve")
    subscriptions.ship(messages.sparkSession)
    asked = sharded(messages, len(subscriptions.shards)) if subscriptions.shards else messages
    columns = MessageColumns(asked)
    # Without both of them nothing is reached.
    fine = is_fine(asked) if find(asked, PROBLEM) is not None else None
    arguments = [each if fine is None else sf.when(fine, each) for each in (columns.subject, columns.metadata)]
    more = [asked[SHARD]] if subscriptions.shards else []
    if subscriptions.expires:
        more.append(sf.unix_micros(sf.current_timestamp()) / sf.lit(1e6) if now is None else sf.lit(float(now)))
    if subscriptions.count <= page:
        ids = _listing(subscriptions, page)(*arguments, *more)
        return asked.select("*", sf.explode(ids).alias(ID)).drop(SHARD)
    found = asked.withColumn(FOUND, _finding(subscriptions, page)(*arguments, *more))
    first, count = found[FOUND]["ids"], found[FOUND]["pages"]
    pages = sf.transform(
        sf.when(count > 0, sf.sequence(sf.lit(1), count)),
        lambda number: sf.struct(number.alias("number"), sf.when(number == 1, first).alias("ids")),
    )
    paged = found.select("*", sf.explode(pages).alias(PAGE))
    number = paged[PAGE]["number"]
    others = [sf.when(number > 1, each) for each in arguments]
    further = _paging(subscriptions, page)(*others, number, *more)
    shown = paged.select("*", sf.explode(sf.coalesce(paged[PAGE]["ids"], further)).alias(ID))
    return shown.drop(FOUND, PAGE, SHARD)


def sharded(messages: DataFrame, shards: int) -> DataFrame:
    """The messages, each in the partition of its shard, whose number it says."""
    shard = shard_of_subject(MessageColumns(messages).subject, shards)
    return messages.withColumn(SHARD, shard).repartitionById(shards, SHARD)


def _listing(subscriptions: CompiledSubscriptions, page: int) -> Any:
    """The function from subject and metadata to all that is reached, where no message can reach more than a page."""
    from pyspark.sql.types import ArrayType

    return function(Search(subscriptions, page).only, ArrayType(subscriptions.ids()))


def _finding(subscriptions: CompiledSubscriptions, page: int) -> Any:
    """The function from subject and metadata to the first page."""
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

    search = Search(subscriptions, page)
    kind = StructType([StructField("ids", ArrayType(subscriptions.ids())), StructField("pages", IntegerType())])
    return function(search.first, kind)


def _paging(subscriptions: CompiledSubscriptions, page: int) -> Any:
    """The function from subject, metadata and the number of a page to that page."""
    from pyspark.sql.types import ArrayType

    return function(Search(subscriptions, page).further, ArrayType(subscriptions.ids()))


def function(search: Any, kind: Any) -> Any:
    """The Arrow function of a search, which gives values of this type."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def find(columns: Iterator[Any]) -> Iterator[Any]:
        for each in columns:
            yield from search(*each)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    find.__annotations__ = {"columns": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    return arrow_udf(find, kind)


class Search:
    """What a worker needs to know to find the files and to read the columns."""

    def __init__(self, subscriptions: CompiledSubscriptions, page: int) -> None:
        self._shards = subscriptions.shards
        self._common = subscriptions.common
        self._expires = subscriptions.expires
        self._page = page

    def only(self, subjects: Any, metadata: Any, *more: Any) -> Iterator[Any]:
        """All that each row reaches, where that is never more than a page."""
        for found in self.first(subjects, metadata, *more):
            yield found.field("ids")

    def first(self, subjects: Any, metadata: Any, *more: Any) -> Iterator[Any]:
        """The first page of each row, and how many there are."""
        for indexes, start, stop, now in self._runs(len(subjects), more):
            size = stop - start
            yield from first_pages(indexes, subjects.slice(start, size), metadata.slice(start, size), now, self._page)

    def further(self, subjects: Any, metadata: Any, numbers: Any, *more: Any) -> Iterator[Any]:
        """The page of the number beside each row; null for the first."""
        for indexes, start, stop, now in self._runs(len(subjects), more):
            size = stop - start
            own, pairs, pages = (column.slice(start, size) for column in (subjects, metadata, numbers))
            yield from further_pages(indexes, own, pairs, now, pages, self._page)

    def _runs(self, rows: int, more: tuple[Any, ...]) -> Iterator[tuple[Indexes, int, int, float | None]]:
        """Stretches of rows of one shard, each with what it is looked up in and the time."""
        import numpy as np

        now = more[-1][0].as_py() if self._expires and rows else None
        starts = [0]
        if self._shards:
            numbers = more[0].to_numpy(zero_copy_only=False)
            starts += (np.flatnonzero(np.diff(numbers)) + 1).tolist()
        for start, stop in zip(starts, [*starts[1:], rows], strict=True):
            if stop > start:
                shard = int(numbers[start]) if self._shards else None
                yield self._indexes(shard), start, stop, now

    def _indexes(self, shard: int | None) -> Indexes:
        own = None if shard is None else self._shards[shard]
        return _opened(tuple(shipped(name) for name in (own, *self._common) if name is not None))


@lru_cache(maxsize=8)
def _opened(paths: tuple[str, ...]) -> Indexes:
    return Indexes([opened_index(path) for path in paths])
