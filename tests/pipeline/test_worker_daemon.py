"""Python workers begin with what they need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_what_workers_need_is_imported_before_they_are_forked(spark: SparkSession) -> None:
    """A worker that has done nothing yet knows the reader of messages."""

    def modules(batches: Iterator[Any]) -> Iterator[Any]:
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.record_batch({"known": pa.array(["pointsman.columns.receive" in sys.modules])})

    [row] = spark.range(1).coalesce(1).mapInArrow(modules, "known boolean").collect()
    assert row.known


def test_what_is_not_installed_is_left_out() -> None:
    """Not every session needs all of it."""
    script = """
import sys
from pointsman.pipeline.spark import workers
workers.NEEDED = ("no_such_package.part", "json.tool")
workers.preload()
print("json.tool" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"
