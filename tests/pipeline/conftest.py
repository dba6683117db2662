"""One Spark session for the whole test run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from pointsman.pipeline import local_session
from pointsman.pipeline.session import QUICK_START

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session. Tests that use it belong to the group ``spark``, so that one process runs them all."""
    session = local_session("tests", "local[2]", **QUICK_START, **{"spark.sql.shuffle.partitions": 2})
    yield session
    session.stop()
