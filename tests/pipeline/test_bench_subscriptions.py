"""The benchmark of wildcard subscriptions, run on Spark with very little: all ways find the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pointsman.bench import subscriptions as bench
from pointsman.bench.subscriptions_rows import COLUMNS, JOIN, LIVE, LOOP, SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_a_small_run_measures_all_ways(spark: SparkSession) -> None:
    """Each finds as many matches a message, or the run would have failed."""
    plan = bench.Plan((100,), 40, 2, 20, 1, 1_000, 1_000, 100, warm=False)
    said: list[str] = []
    results = bench.run_plan(plan, spark, said.append)
    assert [(row.way, row.messages) for row in results["rows"]] == [
        (COLUMNS, 40),
        (SPARK, 80),
        (LIVE, 20),
        (LOOP, 10),
        (JOIN, 10),
    ]
    assert all(row.subscriptions == 100 and row.matches > 0 and row.seconds > 0 for row in results["rows"])
    assert results["rows"][1].mode.startswith("broadcast: the index has about")
    assert results["required"] == []
    assert said[0] == "100 subscriptions: making them"
