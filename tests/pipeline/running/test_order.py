"""In which order the messages of a batch move sagas."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from pointsman.pipeline.queue_source import register
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
routes: [{name: all, pattern: "orders.*", destinations: [desk]}]
sagas:
  order:
    starts: [{on: orders.created, to: waiting}]
    states:
      waiting: {edges: [{on: orders.paid, to: paid}]}
      paid: {edges: [{on: orders.sent, to: done}]}
      done: {final: true}
"""
STEPS = ("created", "paid", "sent")


def finished(case: Case) -> int:
    """How many sagas are complete."""
    return sum(row["outcome"] == "completed" for row in case.read("followed", "batch=0", "kind=move"))


def test_sagas_of_lines_without_a_time_go_by_the_place_in_the_source(tmp_path: Path, spark: SparkSession) -> None:
    """By the names of the files and the lines in them, as in one process, and not by the ids."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text("table: table.yaml\nsource: {path: in}\n")
    ids = Random(7)
    for number, steps in enumerate([STEPS[:2], STEPS[2:]]):
        lines = [
            {"subject": f"orders.{step}", "id": f"{ids.random()}", "correlation_id": f"{order}"}
            for step in steps
            for order in range(50)
        ]
        # The larger file is read first by Spark, whatever its name is.
        lines += [{"subject": "nobody", "id": f"{number}/{each}"} for each in range(1000 * number)]
        case.add(f"{number}.json", *lines)
    case.run()
    assert finished(case) == 50


def test_sagas_of_a_queue_go_by_the_order_of_putting(tmp_path: Path, spark: SparkSession) -> None:
    """What another pipeline has put may have no time."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    options = "{subscription: shop, start: 0}"
    (tmp_path / "pipeline.yaml").write_text(
        f"table: table.yaml\nsource: {{format: pointsman, path: shop.db, options: {options}}}\n"
    )
    register(spark)
    rows = [{"subject": f"orders.{step}", "id": f"{9 - number}"} for number, step in enumerate(STEPS)]
    put = spark.createDataFrame(rows).coalesce(1).selectExpr("*", "'7' AS correlation_id", "timestamp(NULL) AS time")
    put.write.format("pointsman").mode("append").option("path", str(tmp_path / "shop.db")).save()
    case.run()
    assert finished(case) == 1
