"""A table goes to the workers once, as a file, and is read there once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

from pointsman.pipeline.table_file import opened_table, part_of, ship_table
from pointsman.table.routing_table import RoutingTable

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"


def test_a_worker_reads_the_table_that_was_shipped_once(spark: SparkSession) -> None:
    """Of the same hash, however many tasks it runs; how many workers there are is up to Spark."""
    table = RoutingTable.load(SHOP, "staging")
    name = ship_table(spark, table)

    @arrow_udf("worker int, hash string, reads int")  # type: ignore[untyped-decorator]
    def probe(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for column in columns:
            opened = opened_table(SparkFiles.get(name))
            assert opened_table(SparkFiles.get(name)) is opened
            seen = {"worker": os.getpid(), "hash": opened.hash, "reads": opened_table.cache_info().misses}
            yield pa.array([seen] * len(column))

    tasks = 12
    rows = spark.range(0, tasks, 1, tasks).select(probe("id").alias("seen")).select("seen.*").collect()
    assert {row.hash for row in rows} == {table.hash}
    assert len({row.worker for row in rows}) < tasks
    assert len({(row.worker, row.reads) for row in rows}) == len({row.worker for row in rows})


def test_a_table_is_shipped_again_only_when_it_says_something_else(spark: SparkSession) -> None:
    """And nothing but the table is left where Spark keeps its files."""
    first = RoutingTable.parse("routes: [{name: shipped, pattern: a, destinations: [b]}]")
    same = RoutingTable.parse("routes:\n  - name: shipped\n    destinations: [b]\n    pattern: a\n")
    other = RoutingTable.parse("routes: [{name: shipped, pattern: a, destinations: [c]}]")
    before = len(spark.sparkContext.listFiles)
    names = [ship_table(spark, table) for table in (first, same, other)]
    assert names[0] == names[1] != names[2]
    assert len(spark.sparkContext.listFiles) == before + 2
    assert not list(Path(SparkFiles.getRootDirectory()).glob("*.draft"))


def test_a_part_of_a_table_is_the_same_as_long_as_its_sections_are() -> None:
    """Other sections may change; the dialect counts, for it says how the section is read."""
    text = "dialect: {}\nroutes: [{{name: {}, pattern: a, destinations: [b]}}]\naccess: {{p: {{publish: [a]}}}}"
    tables = [RoutingTable.parse(text.format(*each)) for each in (("nats", "x"), ("nats", "y"), ("amqp", "x"))]
    parts = [part_of(table, "access") for table in tables]
    assert parts[0].hash == parts[1].hash != parts[2].hash
    assert parts[0].routes == ()
    assert parts[0].access is not None
    assert parts[2].access is not None
    checked = [part.access.check("p", "publish", "a..b").reason for part in (tables[2], parts[2]) if part.access]
    assert checked[0] == checked[1]
