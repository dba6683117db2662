"""The flow of the wildcard subscriptions on Spark, one micro-batch after the other.

    source ─▶ input adapter ─▶ resolver ─▶ output adapter ─▶ destinations
                                  │ ▲
                        matchers, subscriptions     pages of them, on the workers

- The input adapter (``input_adapter``) reads messages from files, in a batch or a stream.
- The resolver is ``resolve``: on each worker the matchers that hold are found in pieces of messages, the subscriptions
  behind them are decided about, and those that match are handed out a page at a time.
- The output adapter (``output_adapter``) makes deliveries of messages and their subscriptions; those that their owner
  may read (``readable``) are brought to their destinations by ``deliver``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError
from pointsman.pipeline.columns import PROBLEM, find
from pointsman.pipeline.crossing import decider_of, part_of
from pointsman.pipeline.deliver import deliver
from pointsman.pipeline.destinations.folder import save
from pointsman.pipeline.formats import stream_messages
from pointsman.pipeline.resolve_conditions import ID, MOST_IN_A_PAGE, resolve_conditions
from pointsman.pipeline.subscription_versions import SubscriptionVersions
from pointsman.subscriptions.output_adapter import NAMED, ROUTE
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CARRIED = ("id", "owner", "destinations")
ADDED = ("owner", "matched", "subscriptions")
"""Columns that only deliveries of subscriptions have."""
WHO = "pointsman_who"


def with_destinations(subscriptions: DataFrame) -> DataFrame:
    """The subscriptions with a ``subscription_id`` that says all that a delivery needs: id, owner and destinations."""
    from pyspark.sql import functions as sf

    missing = [name for name in CARRIED if find(subscriptions, name) is None]
    if missing:
        raise InputError("bad-usage", f"subscriptions have no column {missing[0]!r}")
    return subscriptions.withColumn(ID, sf.struct(*CARRIED)).drop(*CARRIED)


def input_adapter(spark: SparkSession, source: str | Path, form: str = "json", **options: Any) -> DataFrame:
    """The messages of files that are there and of those that come, as a stream; raises as ``stream_messages``.

    What is no message has a ``problem``.
    """
    return stream_messages(spark, str(source), form, options)


def output_adapter(resolved: DataFrame) -> DataFrame:
    """One row for each message, owner and destination, with ``delivery_id``; it says which subscriptions matched.

    ``resolved`` is what ``resolve`` gives for subscriptions ``with_destinations``; messages need ``id``. Added are
    ``route`` (as the broker has it: ``subscriptions:`` and the owner), ``destination``, ``owner``, ``matched`` (how
    many subscriptions of the owner have this destination and match) and ``subscriptions`` (their ids, the first
    ``NAMED`` of them). A batch, not a stream: use it in ``foreachBatch``.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    own = [name for name in resolved.columns if name != ID]
    each = resolved.select(sf.struct(*own).alias(WHO), ID, sf.explode(f"{ID}.destinations").alias("destination"))
    keys = [sf.col(f"{WHO}.id"), sf.col(f"{ID}.owner"), sf.col("destination")]
    place = sf.row_number().over(Window.partitionBy(*keys).orderBy(f"{ID}.id"))
    named = each.select(
        *(key.alias(name) for key, name in zip(keys, ("id", "owner", "destination"), strict=True)),
        WHO,
        sf.when(place <= NAMED, sf.col(f"{ID}.id")).alias("named"),
    )
    grouped = named.groupBy("id", "owner", "destination").agg(
        sf.first(WHO).alias(WHO),
        sf.count("*").alias("matched"),
        sf.sort_array(sf.collect_list("named")).alias("subscriptions"),
    )
    route = sf.concat(sf.lit(ROUTE), "owner")
    delivery = sf.concat_ws("/", "id", route, "destination").alias("delivery_id")
    shown = grouped.select("*", route.alias("route"), delivery).drop("id")
    return shown.select(f"{WHO}.*", "route", "destination", *ADDED, "delivery_id")


def readable(deliveries: DataFrame, table: RoutingTable) -> DataFrame:
    """The deliveries whose owner may read the subject, by the access rules of the table, if it has any.

    As in the embedded broker, what an owner may not read is no mistake: it is as if it had not been asked for.
    """
    from pyspark.sql import functions as sf

    if table.access is None:
        return deliveries
    may = _reading(part_of(table, "access"))(sf.col("owner"), sf.col("subject"))
    return deliveries.where(sf.col("subject").isNotNull() & may)


def _reading(part: RoutingTable) -> Any:
    """The function from an owner and a subject to whether the owner may read it."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    text, digest = json.dumps(part.plain, ensure_ascii=False), part.hash

    def may_read(owners: Any, subjects: Any) -> Any:
        decider = decider_of(digest, text)
        pairs = zip(owners.to_pylist(), subjects.to_pylist(), strict=True)
        return pa.array([decider.may_read(owner, subject) for owner, subject in pairs], pa.bool_())

    # Spark reads from the types that it works on columns; as text it could not find them here.
    may_read.__annotations__ = {"owners": pa.Array, "subjects": pa.Array, "return": pa.Array}
    return arrow_udf(may_read, "boolean")


class SubscriptionFlow:
    """The flow from messages to destinations, for ``foreachBatch``: each batch with the version that it began with."""

    def __init__(
        self,
        versions: SubscriptionVersions,
        table: RoutingTable,
        out: str | Path,
        *,
        page: int = MOST_IN_A_PAGE,
        sinks: Mapping[str, Any] | None = None,
        query: str = "subscriptions",
    ) -> None:
        """``versions`` are of subscriptions ``with_destinations``; ``table`` has the destinations and the access rules.

        The rest is as for ``resolve_conditions`` and ``deliver``.
        """
        self._versions = versions
        self._table = table
        self._out = out
        self._page = page
        self._sinks = sinks
        self._query = query

    def __call__(self, messages: DataFrame, batch: int) -> None:
        """Resolves and delivers one batch; one that is repeated takes the place of what it had written.

        What has a ``problem`` reaches nobody, and is written to ``quarantined`` under the folder.
        """
        if find(messages, PROBLEM) is not None:
            wrong = messages.where(messages[PROBLEM].isNotNull())
            if not wrong.isEmpty():
                save(wrong, "json", {}, f"{self._out}/quarantined/batch={batch}")
        resolved = resolve_conditions(messages, self._versions.of_batch(batch), page=self._page)
        resolved = resolved.drop(PROBLEM)
        deliveries = readable(output_adapter(resolved), self._table)
        deliver(deliveries, self._table, self._out, sinks=self._sinks, batch=batch, query=self._query)
