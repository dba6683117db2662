"""Counts of what the pipeline made of messages, in the same form as what it must come to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pointsman.pipeline.demo.counts import Counts, Flow, Refusal, general_reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FAMILY = "family"


def with_family(messages: DataFrame) -> DataFrame:
    """The messages with ``family``, the first token of the subject as it was sent; before it is translated."""
    from pyspark.sql import functions as sf

    first = sf.substring_index("subject", ".", 1)
    return messages.withColumn(FAMILY, sf.coalesce(first, sf.lit("")))


def count_rows(rows: DataFrame) -> Counts:
    """What became of messages that had a family and were routed, by ``Routed.rows``; runs one Spark job.

    Messages are told apart by their ``id``. Sagas, gatherings and what failed later are not in these rows.
    """
    from pyspark.sql import functions as sf

    known = "instead_of" if "instead_of" in rows.columns else "CAST(NULL AS STRING)"
    keys = [FAMILY, "outcome", "route", "destination", "problem.stage", "problem.code", "problem.reason"]
    fields = [*map(sf.col, keys), sf.expr(known)]
    # The rows of a message are one group first, so that its deliveries and the message itself are counted in one go.
    messages = rows.groupBy("id").agg(sf.collect_list(sf.struct(*fields)).alias("rows"))
    first = sf.posexplode("rows").alias("number", "row")
    counted = messages.select(first).groupBy("row", (sf.col("number") == 0).alias("first")).count().collect()
    deliveries: Counter[Flow] = Counter()
    quarantined: Counter[Refusal] = Counter()
    unrouted: Counter[str] = Counter()
    fallbacks: Counter[tuple[str, str]] = Counter()
    routed = 0
    for (family, outcome, route, destination, stage, code, reason, instead_of), is_first, count in counted:
        if outcome == "delivered":
            deliveries[Flow(family, route, destination)] += count
            routed += count if is_first else 0
            if instead_of is not None:
                fallbacks[instead_of, destination] += count
        elif outcome == "quarantined":
            quarantined[Refusal(family, stage, code, general_reason(reason))] += count
        else:
            unrouted[family] += count
    total = routed + quarantined.total() + unrouted.total()
    return Counts(total, routed, deliveries, quarantined, unrouted, fallbacks=fallbacks)
