"""A session that knows the queue."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from pointsman.pipeline.queue_source import register
from pointsman.pipeline.queue_source.rows import COLUMNS


@pytest.fixture
def known(spark: SparkSession) -> SparkSession:
    """The session of the tests, with the format ``pointsman``."""
    register(spark)
    return spark


@pytest.fixture
def schema(known: SparkSession) -> StructType:
    """The columns of the source."""
    found: StructType = known.createDataFrame([], COLUMNS).schema
    return found
