"""Deliveries of subscriptions: one for each owner and destination that a message reaches, worked out by the workers.

``stages.code`` with ``subscribed`` gives each message that is fine one more row, with the code ``asking``. Its subject
and metadata cross to Python, where the subscriptions that it reaches are found and grouped; the row becomes one for
each group. A message that reaches more groups than a page holds comes to Python again, a row for each further page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.crossing import decider_of, part_of
from pointsman.pipeline.stages import CODE, PLACE, TO, Coded
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions
from pointsman.pipeline.subscriptions.conditions import SHARD, Search, function, sharded
from pointsman.pipeline.subscriptions.lists import Indexes
from pointsman.subscriptions.output_adapter import NAMED
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOUND, PAGE, AT = "pointsman_found", "pointsman_page", "pointsman_at"
GROUP = "struct<owner:string,destination:string,matched:int,subscriptions:array<string>>"
MOST_IN_A_PAGE = 1 << 16
"""Groups of one message in a page. Subscriptions of no more need no further pages at all."""


def with_owners(
    coded: Coded, subscriptions: CompiledSubscriptions, table: RoutingTable, now: float, page: int = MOST_IN_A_PAGE
) -> DataFrame:
    """The coded rows, where those that ask for subscriptions became one for each owner and destination.

    They have ``TO``, a struct of the owner, the destination and ``OF_SUBSCRIPTIONS``; it is NULL in all others. A
    message that reaches nobody keeps the row only if it has no other. ``PLACE`` is 0 in one row of each message.
    ``now`` says which subscriptions have expired; what an owner may not read, by the access rules of the table, it does
    not get.
    """
    from pyspark.sql import functions as sf

    rows = coded.rows
    subscriptions.ship(rows.sparkSession)
    search = _Owners(subscriptions, page, part_of(table, "access"))
    if subscriptions.shards:
        rows = sharded(rows, len(subscriptions.shards))
    columns = MessageColumns(rows)
    asks = sf.coalesce(rows[CODE] == coded.codes.asking, sf.lit(False))
    arguments = [sf.when(asks, columns.subject), sf.when(asks, columns.metadata)]
    more = [rows[SHARD]] if subscriptions.shards else []
    more += [sf.lit(float(now))] if subscriptions.expires else []
    nobody = sf.array(sf.lit(None).cast(GROUP))
    number = sf.lit(1)
    if not subscriptions.many(page):
        groups = sf.when(asks, function(search.only, f"array<{GROUP}>")(*arguments, *more)).otherwise(nobody)
        shown = rows.select("*", sf.posexplode_outer(groups).alias(AT, TO))
    else:
        kind = f"struct<ids:array<{GROUP}>,pages:int>"
        paged = rows.withColumn(FOUND, function(search.first, kind)(*arguments, *more))
        numbers = sf.when(paged[FOUND]["pages"] > 1, sf.sequence(sf.lit(1), paged[FOUND]["pages"]))
        paged = paged.select("*", sf.explode(sf.coalesce(numbers, sf.array(sf.lit(1)))).alias(PAGE))
        others = [sf.when(paged[PAGE] > 1, each) for each in arguments]
        further = function(search.further, f"array<{GROUP}>")(*others, paged[PAGE], *more)
        groups = sf.when(~asks, nobody).when(paged[PAGE] == 1, paged[FOUND]["ids"]).otherwise(further)
        shown = paged.select("*", sf.posexplode_outer(groups).alias(AT, TO))
        number = shown[PAGE]
    # A message that reaches nobody has no row for it, unless it is its only one.
    kept = shown.where(~(asks & shown[TO].isNull() & (shown[PLACE] > 0)))
    first = (shown[PLACE] == 0) & (sf.coalesce(shown[AT], sf.lit(0)) == 0) & (number == 1)
    return kept.withColumn(PLACE, sf.when(shown[PLACE].isNotNull(), sf.when(first, 0).otherwise(1))).drop(
        AT, FOUND, PAGE, SHARD
    )


class _Owners(Search):
    """What a worker needs to know to find the groups of messages."""

    def __init__(self, subscriptions: CompiledSubscriptions, page: int, access: RoutingTable) -> None:
        super().__init__(subscriptions, page)
        guarded = access.access is not None
        self._access = (access.hash, json.dumps(access.plain, ensure_ascii=False)) if guarded else None

    def only(self, subjects: Any, metadata: Any, *more: Any) -> Iterator[Any]:
        for indexes, start, stop, now in self._runs(len(subjects), more):
            own = subjects.slice(start, stop - start)
            yield from self._groups(indexes, own, metadata.slice(start, stop - start), now)

    def first(self, subjects: Any, metadata: Any, *more: Any) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for groups in self.only(subjects, metadata, *more):
            counts = pc.fill_null(pc.list_value_length(groups), 0)
            pages = pc.divide(pc.add(counts, self._page - 1), self._page).cast(pa.int32())
            if pc.max(counts).as_py() > self._page:
                groups = pa.array([each[: self._page] for each in groups.to_pylist()], groups.type)
            yield pa.StructArray.from_arrays([groups, pages], ["ids", "pages"])

    def further(self, subjects: Any, metadata: Any, numbers: Any, *more: Any) -> Iterator[Any]:
        import pyarrow as pa

        known: tuple[Any, Any] = (None, None)
        for row, number in enumerate(numbers.to_pylist()):
            if number == 1:
                yield pa.nulls(1, _kind())
                continue
            asked = (subjects[row], metadata[row])
            if known[0] != asked:
                # The rows of a message follow each other, so that it is resolved once for all of its pages.
                found = self.only(
                    subjects.slice(row, 1), metadata.slice(row, 1), *(each.slice(row, 1) for each in more)
                )
                known = (asked, pa.concat_arrays([each.flatten() for each in found]))
            part = known[1].slice((number - 1) * self._page, self._page)
            yield pa.ListArray.from_arrays(pa.array([0, len(part)], pa.int32()), part)

    def _groups(self, indexes: Indexes, subjects: Any, metadata: Any, now: float | None) -> Iterator[Any]:
        """A list of groups for each row, in arrays of a bounded size."""
        start = 0
        owners = owners_of(indexes)
        for hits in indexes.rows(subjects, metadata, now):
            rows = len(hits.offsets) - 1
            may = None if self._access is None else self._may(subjects.slice(start, rows).to_pylist())
            yield owners.groups(hits, may)
            start += rows

    def _may(self, subjects: Sequence[str | None]) -> Any:
        decider = decider_of(*self._access or ("", ""))
        return lambda row, owner: (subject := subjects[row]) is not None and decider.may_read(owner, subject)


def _kind() -> Any:
    import pyarrow as pa

    fields = [("owner", pa.string()), ("destination", pa.string()), ("matched", pa.int32())]
    return pa.list_(pa.struct([*fields, ("subscriptions", pa.list_(pa.string()))]))


@lru_cache(maxsize=8)
def owners_of(indexes: Indexes) -> Owners:
    """The owners of the subscriptions of indexes, made ready once."""
    return Owners(indexes)


class Owners:
    """Owners and destinations of subscriptions by position, as numbers."""

    def __init__(self, indexes: Indexes) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = indexes.all()
        owners, destinations = ids.field("owner").dictionary_encode(), ids.field("destinations")
        sent = destinations.flatten().dictionary_encode()
        self._owners, self._names = owners.dictionary, sent.dictionary
        self._owner = owners.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        self._counts = pc.fill_null(pc.list_value_length(destinations), 0).to_numpy(zero_copy_only=False)
        self._starts = np.cumsum(self._counts) - self._counts
        self._destination = sent.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        self._ids = ids.field("id").cast(pa.string())
        # Those of a group are named in the order of their ids, whatever the order of the file was.
        self._rank = np.empty(len(ids), np.int64)
        self._rank[pc.sort_indices(self._ids).to_numpy()] = np.arange(len(ids))

    def groups(self, hits: Any, may: Any) -> Any:
        """For each row of hits its groups, by owner and destination; ``may`` says of a row and an owner, if given."""
        import numpy as np
        import pyarrow as pa

        size = len(hits.offsets) - 1
        positions = hits.ids.astype(np.int64)
        counts = self._counts[positions]
        which = np.repeat(np.arange(len(positions)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(np.arange(size), np.diff(hits.offsets))[which]
        destination = self._destination[self._starts[positions[which]] + within]
        owner, rank = self._owner[positions[which]], self._rank[positions[which]]
        order = np.lexsort((rank, destination, owner, row))
        keys = np.stack([row, owner, destination])[:, order]
        begins = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=-1) != 0, axis=0))
        sizes = np.diff(np.append(begins, len(order)))
        rows, owners, names = keys[:, begins]
        if may is not None:
            known = self._owners.to_pylist()
            kept = np.fromiter(
                (may(each, known[who]) for each, who in zip(rows, owners, strict=True)), np.bool_, len(rows)
            )
            begins, sizes, rows, owners, names = (each[kept] for each in (begins, sizes, rows, owners, names))
        named = np.minimum(sizes, NAMED)
        places = np.repeat(begins, named) + np.arange(named.sum()) - np.repeat(np.cumsum(named) - named, named)
        listed = self._ids.take(pa.array(positions[which[order[places]]]))
        made = pa.StructArray.from_arrays(
            [
                self._owners.take(pa.array(owners)).cast(pa.string()),
                self._names.take(pa.array(names)).cast(pa.string()),
                pa.array(sizes.astype(np.int32)),
                pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(named)]).astype(np.int32)), listed),
            ],
            ["owner", "destination", "matched", "subscriptions"],
        )
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), made)
