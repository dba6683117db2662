"""One run of a pipeline at a time.

A driver that is killed leaves its Java for some seconds, which goes on with what it was told. So it is Java that holds
the lock: it is free again when nothing of the run is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCK = "running.lock"
LOOK = 0.2
"""Seconds between two attempts."""


@contextmanager
def alone(
    spark: SparkSession, checkpoint: Path, patience: float, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Holds an exclusive lock on the checkpoint.

    Waits up to ``patience`` seconds for another run, which may be what is left of one that was killed. Raises
    ``InputError``: ``checkpoint-in-use``, and ``bad-usage`` if the lock is a link to another file.
    """
    path = checkpoint / LOCK
    checkpoint.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        raise InputError("bad-usage", "it is a link; the lock of a checkpoint is a file of its own", file=str(path))
    # Spark has no other way to its Java. Spark Connect has none; a pipeline does not run there either.
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001
    file = jvm.java.io.RandomAccessFile(str(path), "rw")
    try:
        end = time.monotonic() + patience
        while not _is_locked(file):
            if time.monotonic() >= end:
                problem = f"another run has it, after {patience:g} seconds still"
                raise InputError("checkpoint-in-use", problem, file=str(checkpoint))
            sleep(LOOK)
        yield
    finally:
        file.close()


def _is_locked(file: Any) -> bool:
    """Locks it for this Java, if nobody has it; a lock that this Java has already is told by an exception."""
    try:
        return file.getChannel().tryLock() is not None
    except Exception as error:
        if "OverlappingFileLockException" in str(error):
            return False
        raise
