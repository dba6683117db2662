"""The column form and the Spark form, asked about generated cases; for ``tests.agree_subscriptions``."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from pointsman.subscriptions.columns import SubscriptionIndex
from tests.subscriptions.column_cases import METADATA, table_of
from tests.subscriptions.generated import NOW, Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Found = list[list[list[str]]]


def columns(cases: list[Case]) -> Found:
    """Each case for itself; conditions as JSON and as columns in turns."""
    return [_columns(case, as_columns=place % 2 == 0) for place, case in enumerate(cases)]


def _columns(case: Case, as_columns: bool) -> list[list[str]]:
    index = SubscriptionIndex.build(table_of(case.subscriptions, columns=as_columns))
    subjects = pa.array([message.subject for message in case.messages])
    metadata = pa.array([list(message.metadata.items()) for message in case.messages], METADATA)
    pairs = index.match(subjects, metadata, NOW)
    ids = [case.subscriptions[number].id for number in pairs["subscription"].to_pylist()]
    ends = np.searchsorted(pairs["row"].to_numpy(), np.arange(len(case.messages) + 1))
    return [ids[begin:end] for begin, end in pairwise(ends.tolist())]


def broadcast(cases: list[Case]) -> Found:
    """On Spark, with the whole index on the host, in pages."""
    return _on_spark(cases, mode="broadcast", page=100)


def partitioned(cases: list[Case]) -> Found:
    """On Spark, in shards."""
    return _on_spark(cases, mode="partitioned", shards=3)


def _on_spark(cases: list[Case], **how: Any) -> Found:
    """All cases in one job: what a message reaches of the subscriptions of other cases is left out afterwards."""
    from pointsman.pipeline import resolve

    spark = _session()
    every = [each for case in cases for each in case.subscriptions]
    owners = [number for number, case in enumerate(cases) for _ in case.subscriptions]
    places = [place for case in cases for place in range(len(case.subscriptions))]
    ids = pa.StructArray.from_arrays([pa.array(owners, pa.int32()), pa.array(places, pa.int32())], ["case", "number"])
    table = table_of(every, columns=True).set_column(0, "subscription_id", ids)
    rows = [
        (number, place, *message) for number, case in enumerate(cases) for place, message in enumerate(case.messages)
    ]
    messages = spark.createDataFrame(rows, "case int, place int, subject string, metadata map<string,string>")
    found: Found = [[[] for _ in case.messages] for case in cases]
    resolved = resolve(messages, spark.createDataFrame(table), now=NOW, **how).where("subscription_id.case = case")
    for number, place, subscription in sorted(
        resolved.select("case", "place", "subscription_id.number").toArrow().to_pandas().itertuples(index=False)
    ):
        found[number][place].append(cases[number].subscriptions[subscription].id)
    return found


@cache
def _session() -> SparkSession:
    from pointsman.pipeline import local_session
    from pointsman.pipeline.spark.session import QUICK_START

    return local_session("agreement", "local[2]", **{**QUICK_START, "spark.sql.shuffle.partitions": 2})
