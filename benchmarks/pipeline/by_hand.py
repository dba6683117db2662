"""The same jobs as one writes them without Pointsman, in Spark SQL.

Run as a program (``python -m benchmarks.pipeline.by_hand SOURCE FORMAT OUT``) it is the minimal streaming script.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

SCHEMA = "id string, subject string, metadata map<string, string>, body string"


def route(messages: DataFrame, routes: Sequence[dict[str, Any]]) -> DataFrame:
    """A row for each message, route and destination; one for a message that none takes.

    A condition for each route, all asked for each message; of a group, the first that holds.
    """
    taken: dict[str, Column] = {}
    found = []
    for each in routes:
        matches = sf.col("subject").rlike(regular_expression(each["pattern"]))
        if each.get("when", "TRUE") != "TRUE":
            matches = matches & condition(each["when"])
        if (group := each.get("group")) is not None:
            before = taken.get(group)
            taken[group] = matches if before is None else before | matches
            matches = matches if before is None else matches & ~before
        for destination in each["destinations"]:
            row = sf.struct(sf.lit(each["name"]).alias("route"), sf.lit(destination).alias("destination"))
            found.append(sf.when(matches, row))
    delivered = sf.array_compact(sf.array(*found))
    rows = messages.select("*", sf.explode_outer(delivered).alias("to"))
    outcome = sf.when(sf.isnull("to"), "unrouted").otherwise("delivered")
    return rows.select(outcome.alias("outcome"), "to.route", "to.destination", *messages.columns)


def regular_expression(pattern: str) -> str:
    """The pattern for ``rlike``."""
    tokens = {"*": "[^.]+", ">": ".+"}
    return "^" + r"\.".join(tokens.get(token, re.escape(token)) for token in pattern.split(".")) + "$"


def condition(when: str) -> Column:
    """``body.FIELD > NUMBER`` over a body that is JSON."""
    field, number = re.fullmatch(r"body\.(\w+) > (\d+)", when).groups()  # type: ignore[union-attr]
    value = sf.get_json_object(sf.col("body").cast("string"), f"$.{field}").cast("double")
    return sf.coalesce(value > int(number), sf.lit(False))


def identity(messages: DataFrame) -> DataFrame:
    """Whole rows to Python and back."""

    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    return messages.mapInArrow(same, messages.schema)


def run(spark: SparkSession, source: str, form: str, out: str, routes: Sequence[dict[str, Any]], files: int = 0) -> Any:
    """Reads a folder as a stream and writes each batch by outcome and destination; the query, when it has ended."""

    def write(batch: DataFrame, number: int) -> None:
        rows = route(batch, routes)
        rows.write.partitionBy("outcome", "destination").mode("overwrite").parquet(f"{out}/deliveries/batch={number}")

    reader = spark.readStream.schema(SCHEMA if form == "json" else SCHEMA.replace("body string", "body binary"))
    if files:
        reader = reader.option("maxFilesPerTrigger", files)
    stream = reader.format(form).load(source).writeStream.option("checkpointLocation", f"{out}/checkpoint")
    query = stream.foreachBatch(write).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


if __name__ == "__main__":
    from benchmarks.pipeline.shop import NINE

    session = SparkSession.builder.master("local[2]").getOrCreate()
    run(session, *sys.argv[1:4], NINE)
    session.stop()
