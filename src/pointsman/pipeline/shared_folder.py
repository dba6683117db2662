"""Whether a folder is the same one for the driver and for the workers of a cluster.

Spark does not ask. Where each host has a folder of this name on its own disk, tasks write to theirs, the driver finds
its own empty, and calls it a success.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING
from uuid import uuid4

from pointsman.errors import InputError
from pointsman.pipeline.spark.errors import spark_errors
from pointsman.pipeline.spark.kind import master_of, task_count
from pointsman.pipeline.spark.session import is_local

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MET = "host string, folder int, name string, problem string"
DRIVER = "driver"


def check_shared(spark: SparkSession, *folders: str) -> None:
    """Raises ``InputError`` (``folder-elsewhere``) if a worker does not see a folder or cannot write to it.

    A folder is made if it is not there. All workers that Spark has at this time are asked, by a task for each core; on
    this machine, and of a path with a scheme such as ``s3a://``, nothing is asked. Nothing is left in the folders.
    Raises ``no-file`` if the driver cannot write there, and ``spark-failed`` if the workers cannot be asked, as when
    this package is not there where they run.
    """
    mounted = [folder for folder in folders if "://" not in folder]
    if is_local(master_of(spark)) or not mounted:
        return
    with ExitStack() as stack:
        meetings = [stack.enter_context(_called(folder)) for folder in mounted]
        tasks = task_count(spark)
        with spark_errors(mounted[0]):
            rows = spark.range(0, tasks, 1, tasks).mapInArrow(_meeting(meetings), MET).collect()
        seen = [{path.name for path in meeting.iterdir()} for meeting in meetings]
    for row in rows:
        arrived = row["name"] in seen[row["folder"]]
        problem = row["problem"] or ("" if arrived else "what it writes does not arrive at the driver")
        if problem:
            told = f"a worker on the host {row['host']}: {problem}"
            raise InputError("folder-elsewhere", told, file=mounted[row["folder"]])


@contextmanager
def _called(folder: str) -> Iterator[Path]:
    """A new folder in this one, with a file by which it is known; gone when the block ends."""
    meeting = Path(folder, f".pointsman-{uuid4().hex}")
    try:
        meeting.mkdir(parents=True)
        (meeting / DRIVER).touch()
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=folder) from None
    try:
        yield meeting
    finally:
        rmtree(meeting, ignore_errors=True)


def meet(folder: Path) -> tuple[str, str]:
    """Leaves a file, as a worker, in the folder where the driver has left one; its name, and what is in the way."""
    name = uuid4().hex
    if not (folder / DRIVER).exists():
        return name, "it does not see what the driver has written there"
    try:
        (folder / name).touch()
    except OSError as error:
        return name, f"it cannot write there: {error.strerror}"
    return name, ""


def _meeting(folders: list[Path]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for _ in batches:
            names, problems = zip(*map(meet, folders), strict=True)
            hosts, numbers = [socket.gethostname()] * len(names), pa.array(range(len(names)), pa.int32())
            yield pa.record_batch([hosts, numbers, names, problems], ["host", "folder", "name", "problem"])

    return ask
