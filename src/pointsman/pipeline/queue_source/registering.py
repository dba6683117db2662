"""Making the source known to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.errors import MissingExtraError
from pointsman.pipeline.spark.kind import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SET_BY_SPARK = ("SPARK_LOCAL_DIRS", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE", "SPARK_PYTHON_RUNTIME")
"""What Spark adds to the environment of a source when a stream of it begins.

All streams of a source have one mapping of Java for it, and one of them may be sending it to a task at that moment:
what arrives there then cannot be read (``OptionalDataException``). Where the names are there already, Spark only
changes their values, which harms nobody.
"""


def register(spark: SparkSession) -> None:
    """Makes the format ``pointsman`` known to a session: the durable queue, to read, write and stream.

    To register it again changes nothing. Raises ``MissingExtraError`` when pyspark is not installed.
    """
    try:
        from pointsman.pipeline.queue_source.source import QueueSource
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    # A server of Spark Connect has an environment of its own.
    environment = {} if is_connect(spark) else spark.sparkContext.environment
    added = [name for name in SET_BY_SPARK if name not in environment]
    environment.update(dict.fromkeys(added, ""))
    try:
        spark.dataSource.register(QueueSource)
    finally:
        for name in added:
            del environment[name]
