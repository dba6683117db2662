"""A Spark session in this process, set up so that ``pip install`` is all that had to be done for it."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.errors import MissingExtraError, PointsmanError
from pointsman.pipeline.spark.errors import origin_of
from pointsman.pipeline.spark.java import find_java, make_wrapper, quiet_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The environment variable of a program that ``spark-submit`` has started; the master, Java and Python are chosen."""
HEAP = "spark.driver.memory"
"""On this machine tasks run in the driver, and all of Spark in this heap."""
SMALLEST_HEAP, LARGEST_HEAP = 1024, 8192
"""In MB."""


def on_this_machine(heap: str = "") -> dict[str, str]:
    """Settings for a session whose tasks run here; on a cluster they are for its ``spark-defaults.conf`` to say.

    ``heap`` is Java's heap, as ``spark.driver.memory`` has it; without it, ``heap_size``.
    """
    heap = heap or f"{heap_size()}m"
    return {
        "spark.ui.enabled": "false",
        # A task for each core is plenty on one machine; Spark's 200 would be mostly empty.
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        HEAP: heap,
        # A row group of Parquet is in memory as a whole while it is read, and another while it is written. Outside of
        # the heap, what was read and what is sorted do not crowd it out; Spark writes to disk what finds no room there.
        "spark.memory.offHeap.enabled": "true",
        "spark.memory.offHeap.size": f"{megabytes(heap) // 2}m",
        "spark.sql.columnVector.offheap.enabled": "true",
        "spark.hadoop.parquet.block.size": str(32 << 20),
        # It reads a column of a row group into one piece of memory, for which a heap may have no room in one place.
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    }


def megabytes(size: str) -> int:
    """A size as Spark reads one, in MB; 0 if Spark refuses it.

    >>> megabytes("1g"), megabytes("512"), megabytes("2048k"), megabytes("much")
    (1024, 512, 2, 0)
    """
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", size.strip().lower())
    return 0 if found is None else (int(found[1]) << {"k": 10, "g": 30, "t": 40}.get(found[2], 20)) >> 20


def heap_size() -> int:
    """Java's heap in MB: a quarter of the memory of this machine, or of what a container allows."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            found.append(int(Path(limit).read_text()))
    return min(max(min(found) // 4 >> 20, SMALLEST_HEAP), LARGEST_HEAP)


def is_local(master: str) -> bool:
    """Whether the driver and all workers are processes of this machine.

    >>> is_local("local[*]"), is_local("spark://host:7077"), is_local("yarn")
    (True, False, False)
    """
    return master.startswith("local")


def python_variables(
    master: str, config: Mapping[str, object], variables: Mapping[str, str], python: str
) -> dict[str, str]:
    """The environment variables that tell Spark which Python to run, where the driver runs on ``python``.

    On this machine, workers run on the same one. On a cluster they run on that of the setting
    ``spark.pyspark.python``, or of PYSPARK_PYTHON if it is set: the driver's may not be there. On this machine Spark
    is also told to listen to this machine alone, unless SPARK_LOCAL_IP says otherwise; the workers of a cluster could
    not reach it so.

    >>> python_variables("yarn", {}, {"PYSPARK_PYTHON": "environment/bin/python"}, "/usr/bin/python3")
    {'PYSPARK_DRIVER_PYTHON': '/usr/bin/python3', 'PYSPARK_PYTHON': 'environment/bin/python'}
    """
    if is_local(master):
        address = variables.get("SPARK_LOCAL_IP", "127.0.0.1")
        return {"PYSPARK_DRIVER_PYTHON": python, "PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": address}
    chosen = config.get("spark.pyspark.python") or variables.get("PYSPARK_PYTHON") or python
    return {"PYSPARK_DRIVER_PYTHON": python, "PYSPARK_PYTHON": str(chosen)}


LOGGING = Path(__file__).with_name("log4j2.properties")
"""Says that errors are logged and nothing else, from the first moment on."""

ANYWHERE = "local[*]"
"""The master unless one is named; ``spark-submit`` means the same by naming none."""

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_QUIET = f"-Dlog4j2.configurationFile={LOGGING.as_uri()}"

SETTINGS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # With it, what an Arrow function gives is copied value by value into columns, and from there into rows.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    # Measured: the rows of a batch wait in Java, where more of them cost more; fewer cost Python more.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
    # Whatever the size of the bodies, so many bytes at a time are on their way to Python, and a reader of Parquet holds
    # so few rows: with Spark's own limits, bodies of 100 KB take more than a small heap.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(8 << 20),
    "spark.sql.parquet.columnarReaderBatchSize": "1024",
    "spark.python.daemon.module": "pointsman.pipeline.spark.workers",
    _JAVA_OPTIONS: _QUIET,
}

QUICK_START = {_JAVA_OPTIONS: f"{_QUIET} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""For sessions of a minute: Java compiles sooner and less well, and collects without threads of its own."""


def local_session(name: str = "pointsman", master: str = ANYWHERE, **config: object) -> SparkSession:
    """The Spark session of this process; a new one on all cores of this machine unless there is one already.

    ``config`` has further settings, and wins over those made here:
    ``local_session(**{"spark.sql.shuffle.partitions": 2})``. The progress bar and everything but errors in the log are
    off; on this machine, so is the user interface. Spark runs on the Java that ``find_java`` finds, which is that of
    JAVA_HOME if it is usable, and its workers run on this Python, or on a cluster on the one that ``python_variables``
    says; to tell Spark so, JAVA_HOME and those variables of this process are set.

    In a program that ``spark-submit`` has started, that has said all this already: only ``config`` is set, and a
    master that is not ``local[*]``.

    With ``spark.api.mode`` ``connect`` the session is one of Spark Connect, with a server that this process starts.

    On this machine Java's heap is a quarter of the memory, from 1 to 8 GB, unless ``config`` has another
    ``spark.driver.memory``; outside of it Java takes up to half as much again (``spark.memory.offHeap.size``).

    Raises MissingExtraError when pyspark is not installed, and PointsmanError: ``no-java``, and ``spark-failed`` when
    Java or Spark does not start with these settings. The caller ends the session with ``stop()``.
    """
    try:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException, PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    builder = SparkSession.builder.appName(name)
    settings: dict[str, object] = {}
    is_submitted = SUBMITTED in os.environ
    if not is_submitted:
        os.environ["JAVA_HOME"] = str(_quiet(find_java().home))
        os.environ.update(python_variables(master, config, os.environ, sys.executable))
        if is_local(master):
            os.environ["PYSPARK_PYTHON"] = quiet_python(sys.executable)
        settings = {**SETTINGS, **(on_this_machine(str(config.get(HEAP) or "")) if is_local(master) else {})}
    if not is_submitted or master != ANYWHERE:
        builder = builder.master(master)
    for key, value in {**settings, **config}.items():
        builder = builder.config(key, str(value))
    try:
        with warnings.catch_warnings():
            # Spark Connect sets again what it has started its server with, and warns that it cannot.
            warnings.simplefilter("ignore")
            session = builder.getOrCreate()
        # Some settings are looked at when something is asked for.
        session.range(0)
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise PointsmanError("spark-failed", "its Java process ended before it had begun; it says why above") from error
    except (PySparkException, Py4JJavaError, ValueError) as error:
        raise PointsmanError("spark-failed", f"it cannot begin with these settings: {origin_of(error)}") from error
    return session


def _quiet(home: Path) -> Path:
    """A Java home that prints nothing at its start, if there can be one.

    A Java that has the incubating module which Spark's launcher asks for warns of it each time. Spark uses that module
    for the linear algebra of its machine learning alone, and goes on without it.
    """
    if not (home / "release").exists():
        return home
    try:
        return make_wrapper(home)
    except (OSError, RuntimeError):
        return home
