"""A Spark session in this process, set up so that ``pip install`` is all that had to be done for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.errors import MissingExtraError, PointsmanError
from pointsman.pipeline.java import find_java
from pointsman.pipeline.java_wrapper import make_wrapper, quiet_python
from pointsman.pipeline.master import HEAP, ON_THIS_MACHINE, heap_size, is_local, is_submitted, python_variables
from pointsman.pipeline.spark_errors import origin_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    "spark.python.daemon.module": "pointsman.pipeline.worker_daemon",
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

    On this machine Java's heap is a quarter of the memory, from 1 to 8 GB, unless ``config`` has another
    ``spark.driver.memory``.

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
    if not is_submitted(os.environ):
        os.environ["JAVA_HOME"] = str(_quiet(find_java().home))
        os.environ.update(python_variables(master, config, os.environ, sys.executable))
        if is_local(master):
            os.environ["PYSPARK_PYTHON"] = quiet_python(sys.executable)
        settings = {**SETTINGS, **({**ON_THIS_MACHINE, HEAP: heap_size()} if is_local(master) else {})}
    if not is_submitted(os.environ) or master != ANYWHERE:
        builder = builder.master(master)
    for key, value in {**settings, **config}.items():
        builder = builder.config(key, str(value))
    try:
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
