"""Making the source known to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.errors import MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Makes the format ``pointsman`` known to a session: the durable queue, to read, write and stream.

    To register it again changes nothing. Raises ``MissingExtraError`` when pyspark is not installed.
    """
    try:
        from pointsman.pipeline.queue_source.source import QueueSource
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    spark.dataSource.register(QueueSource)
