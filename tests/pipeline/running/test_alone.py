"""One run of a pipeline at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.spark.lock import alone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_a_second_run_waits_and_then_says_so(tmp_path: Path, spark: SparkSession) -> None:
    """And another checkpoint is another matter."""
    waited: list[float] = []
    with (
        alone(spark, tmp_path / "one", 0),
        alone(spark, tmp_path / "other", 0),
        pytest.raises(InputError, match="another run has it") as raised,
        alone(spark, tmp_path / "one", 0.5, waited.append),
    ):
        pass
    assert raised.value.code == "checkpoint-in-use"
    assert waited
    with alone(spark, tmp_path / "one", 0):
        pass


def test_a_run_begins_when_the_other_has_ended(tmp_path: Path, spark: SparkSession) -> None:
    """It is waited for."""
    first = alone(spark, tmp_path, 0)
    first.__enter__()
    with alone(spark, tmp_path, 60, lambda _: first.__exit__(None, None, None)):
        pass


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, spark: SparkSession) -> None:
    """Nothing is made where it leads to."""
    (tmp_path / "running.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="it is a link"), alone(spark, tmp_path, 0):
        pass
    assert not (tmp_path / "elsewhere").exists()
