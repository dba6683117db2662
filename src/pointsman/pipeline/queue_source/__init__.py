"""The durable queue as a data source of Spark: ``spark.read``, ``readStream``, ``write`` and ``writeStream``.

    source    the class that Spark knows, and its options
    reader    reads a batch or a stream
    stream    the positions of a stream in the queue's file: taken, acknowledged, given back
    writer    writes a batch or a stream: tasks leave files for the driver
    commit    those files, and how the driver puts them into the queue exactly once
    rows      rows of Spark to and from messages of the queue
    sql       the statements

Only ``source``, ``reader`` and ``writer`` import Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.errors import MissingExtraError, StoreError
from pointsman.pipeline.spark.kind import environment_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "release"]

SET_BY_SPARK = ("SPARK_LOCAL_DIRS", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE", "SPARK_PYTHON_RUNTIME")
"""What Spark adds to the environment of a source when a stream of it begins.

All streams of a source share one Java map for it, which may be on its way to a task at that moment: a map that grows
meanwhile arrives broken (``OptionalDataException``). Changing the value of a name that is there already is harmless.
"""


def register(spark: SparkSession) -> None:
    """Makes the format ``pointsman`` known to a session: the durable queue, to read, write and stream.

    Registering it again changes nothing. Raises ``MissingExtraError`` if pyspark is not installed.
    """
    try:
        from pointsman.pipeline.queue_source.source import QueueSource
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    environment = environment_of(spark)
    added = [name for name in SET_BY_SPARK if name not in environment]
    environment.update(dict.fromkeys(added, ""))
    try:
        spark.dataSource.register(QueueSource)
    finally:
        for name in added:
            del environment[name]


def release(path: str | Path, subscription: str = "") -> int:
    """Ends the stream of a subscription: what it took and did not acknowledge is ready again. Returns how much.

    For a query that will not go on, which otherwise keeps its deliveries for ever; if it does go on, it is refused
    (``stream-taken``). The empty name is the queue itself. May be called again after it was broken off. Raises
    ``StoreError``: ``no-subscription`` and ``store-not-opened``.
    """
    from pointsman.pipeline.queue_source.stream import Stream, find_subscription
    from pointsman.store.queue import Queue

    if not Path(path).exists():
        raise StoreError("store-not-opened", "there is no such file", file=str(path))
    with Queue(path) as queue:
        number = find_subscription(queue.store, subscription)
        if number is None:
            raise StoreError("no-subscription", f"there is no subscription {subscription!r}", file=str(path))
        return Stream(queue.store, number).release()
