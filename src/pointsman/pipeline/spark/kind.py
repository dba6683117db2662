"""The two kinds of session, classic and Spark Connect, and what differs between them.

A session of Spark Connect talks to a server and has no Java of its own: no ``SparkContext`` and no Hadoop. Nothing in
the pipeline but this file, ``files`` and ``lock`` asks for either.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pointsman.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_shipping = Lock()
_shipped: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def refuse_connect(spark: SparkSession, what: str, why: str) -> None:
    """Raises ``InputError`` (``classic-session-needed``) on Spark Connect."""
    if is_connect(spark):
        raise InputError("classic-session-needed", f"{what} does not run on Spark Connect: {why}")


def refuse_connect_stream(frame: DataFrame, what: str) -> None:
    """Raises ``InputError`` (``classic-session-needed``) for a stream on Spark Connect, where files are needed."""
    if frame.isStreaming:
        why = "files that a session ships do not reach the workers of its streams. Use it in foreachBatch"
        refuse_connect(frame.sparkSession, f"{what} of a stream", why)


def ship(spark: SparkSession, path: Path) -> str:
    """Sends a file to all workers, which find it by ``shipped``; the name under which they do, which is its own.

    Each name is sent once in the life of a session. Safe between threads.
    """
    with _shipping:
        # A server keeps the files of each session apart; the classic sessions of a process share theirs.
        known = _shipped.setdefault(spark if is_connect(spark) else spark.sparkContext, set())
        if path.name not in known:
            spark.addArtifacts(str(path), file=True)
            known.add(path.name)
    return path.name


def shipped(name: str) -> str:
    """The path, on a worker, of a file that was sent."""
    from pyspark import SparkFiles

    return str(SparkFiles.get(name))


def folder_to_ship_from(spark: SparkSession) -> Path:
    """Where the driver writes files to be shipped; gone when the session or this process ends."""
    if is_connect(spark):
        return Path(_own_folder().name)
    from pyspark import SparkFiles

    # Where Spark keeps the files that it ships, so that shipping on this host copies nothing.
    return Path(SparkFiles.getRootDirectory())


@lru_cache(maxsize=1)
def _own_folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="pointsman-")


def task_count(spark: SparkSession) -> int:
    """How many tasks run at one time."""
    if not is_connect(spark):
        return int(spark.sparkContext.defaultParallelism)
    from pyspark.sql import functions as sf

    # A frame of numbers has a partition for each.
    return spark.range(1 << 12).select(sf.spark_partition_id()).distinct().count()


def master_of(spark: SparkSession) -> str:
    """Where the tasks run, as ``local[2]`` or ``yarn``."""
    return str(spark.conf.get("spark.master"))


def environment_of(spark: SparkSession) -> dict[str, str]:
    """What the environment of new workers has besides; on Spark Connect, where the server knows, nothing."""
    return {} if is_connect(spark) else spark.sparkContext.environment
