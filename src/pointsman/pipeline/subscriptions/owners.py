"""Deliveries of subscriptions: one for each owner and destination that a message reaches, worked out by the workers.

``stages.code`` with ``subscribed`` gives each message without a problem one more row, with the code ``asking``. Here
that row becomes one for each owner and destination of the subscriptions that the message reaches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.crossing import decider_of, part_of
from pointsman.pipeline.stages import CODE, PLACE, TO, Coded
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions
from pointsman.pipeline.subscriptions.search import PAGE, SHARD, Found, Indexes, Search
from pointsman.subscriptions.output_adapter import NAMED
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

AT = "pointsman_at"
GROUP = "struct<owner:string,destination:string,matched:int,subscriptions:array<string>>"
MOST_IN_A_PAGE = 1 << 18
"""Groups of one message in a page, by default."""


def with_owners(
    coded: Coded, subscriptions: CompiledSubscriptions, table: RoutingTable, now: float, page: int = MOST_IN_A_PAGE
) -> DataFrame:
    """The coded rows, with one row for each owner and destination in place of each that asks for subscriptions.

    Such rows have ``TO``, a struct of the owner, the destination and ``OF_SUBSCRIPTIONS``; it is NULL in all others. A
    message that reaches nobody keeps its row only if it has no other. ``PLACE`` is 0 in one row of each message.
    ``now`` decides which subscriptions have expired. Owners get only what the access rules of the table let them read.
    """
    from pyspark.sql import functions as sf

    asks = sf.coalesce(coded.rows[CODE] == coded.codes.asking, sf.lit(False))
    search = OwnerSearch(subscriptions, page, part_of(table, "access"))
    rows = search.rows(coded.rows, asks)
    nobody = sf.array(sf.lit(None).cast(GROUP))
    groups = sf.when(asks, search.column(rows, asks, sf.lit(float(now)), f"array<{GROUP}>")).otherwise(nobody)
    shown = rows.select("*", sf.posexplode_outer(groups).alias(AT, TO))
    is_only = (shown[PLACE] == 0) & (shown[PAGE] == 1)
    kept = shown.where(~asks | shown[TO].isNotNull() | is_only)
    first = is_only & (sf.coalesce(shown[AT], sf.lit(0)) == 0)
    place = sf.when(shown[PLACE].isNotNull(), sf.when(first, 0).otherwise(1))
    return kept.withColumn(PLACE, place).drop(AT, PAGE, SHARD)


class OwnerSearch(Search):
    """Finds the owners and destinations that messages reach."""

    def __init__(self, subscriptions: CompiledSubscriptions, page: int, access: RoutingTable) -> None:
        super().__init__(subscriptions, page)
        guarded = access.access is not None
        self._access = (access.hash, json.dumps(access.plain, ensure_ascii=False)) if guarded else None

    def search(self, indexes: Indexes, subjects: Any, metadata: Any, now: float | None) -> Iterator[Found]:
        """The groups of messages, in pieces."""
        start = 0
        owners = owners_of(indexes)
        for hits in indexes.rows(subjects, metadata, now):
            rows = len(hits.offsets) - 1
            may = None if self._access is None else self._may(subjects.slice(start, rows).to_pylist(), *self._access)
            yield Found(*owners.groups(hits, may), lambda groups: groups)
            start += rows

    @staticmethod
    def _may(subjects: list[str | None], digest: str, text: str) -> Callable[[int, str], bool]:
        decider = decider_of(digest, text)
        return lambda row, owner: (subject := subjects[row]) is not None and decider.may_read(owner, subject)


@lru_cache(maxsize=8)
def owners_of(indexes: Indexes) -> Owners:
    """The owners of the subscriptions of indexes, made ready once."""
    return Owners(indexes)


class Owners:
    """Owners and destinations of subscriptions, by position."""

    def __init__(self, indexes: Indexes) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        ids = indexes.ids.combine_chunks()
        owners, destinations = ids.field("owner").dictionary_encode(), ids.field("destinations")
        sent = destinations.flatten().dictionary_encode()
        self._owners, self._destinations = owners.dictionary, sent.dictionary
        self._owner = owners.indices.to_numpy()
        counts = pc.fill_null(pc.list_value_length(destinations), 0).to_numpy(zero_copy_only=False)
        self._sent = pa.ListArray.from_arrays(np.append(0, np.cumsum(counts)).astype(np.int32), sent.indices)
        self._ids = ids.field("id").cast(pa.string())
        # A group names its subscriptions in the order of their ids, whatever the order of the file is.
        self._rank = np.empty(len(ids), np.int64)
        self._rank[pc.sort_indices(self._ids).to_numpy()] = np.arange(len(ids))

    def groups(self, hits: Any, may: Callable[[int, str], bool] | None) -> tuple[Any, Any]:
        """The groups of the rows of hits, and where those of each row begin and end.

        ``may`` decides whether the owner of a group may read the message of a row; without it, all may.
        """
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        size = len(hits.offsets) - 1
        rows = np.repeat(np.arange(size), np.diff(hits.offsets))
        order = np.lexsort((self._rank[hits.ids], rows))
        rows, positions = rows[order], hits.ids[order]
        sent = self._sent.take(pa.array(positions))
        each = pc.list_parent_indices(sent).to_numpy()
        deliveries = pa.table(
            {
                "row": rows[each],
                "owner": self._owner[positions[each]],
                "destination": pc.list_flatten(sent),
                "position": positions[each],
            }
        )
        # In the order of the deliveries, with one thread only.
        keys = ["row", "owner", "destination"]
        found = deliveries.group_by(keys, use_threads=False).aggregate([("position", "count"), ("position", "list")])
        found = found.append_column("name", self._owners.take(found["owner"].combine_chunks()))
        if may is not None:
            pairs = zip(found["row"].to_pylist(), found["name"].to_pylist(), strict=True)
            found = found.filter(pa.array([may(*pair) for pair in pairs], pa.bool_()))
        found = found.combine_chunks()
        named = pc.list_slice(found["position_list"].combine_chunks(), 0, NAMED)
        groups = pa.StructArray.from_arrays(
            [
                found["name"].combine_chunks().cast(pa.string()),
                self._destinations.take(found["destination"].combine_chunks()).cast(pa.string()),
                found["position_count"].combine_chunks().cast(pa.int32()),
                pa.ListArray.from_arrays(named.offsets, self._ids.take(named.values)),
            ],
            ["owner", "destination", "matched", "subscriptions"],
        )
        counts = np.bincount(found["row"].to_numpy(), minlength=size)
        return np.append(0, np.cumsum(counts)), groups
