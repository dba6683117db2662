"""A Spark session in this process, set up so that ``pip install`` is all that had to be done for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.errors import MissingExtraError
from pointsman.pipeline.java import find_java
from pointsman.pipeline.java_wrapper import make_wrapper

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")
"""Says that errors are logged and nothing else, from the first moment on."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A task for each core is plenty on one machine; Spark's 200 would be mostly empty.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # With it, what an Arrow function gives is copied value by value into columns, and from there into rows.
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    # Subjects that repeat are matched once in a batch, so larger ones cost less; their bytes are limited besides.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    "spark.python.daemon.module": "pointsman.pipeline.worker_daemon",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
}

QUICK_START = {
    "spark.driver.extraJavaOptions": (
        f"{SETTINGS['spark.driver.extraJavaOptions']} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    ),
}
"""For sessions of a minute: Java compiles sooner and less well, and collects without threads of its own."""


def local_session(name: str = "pointsman", master: str = "local[*]", **config: object) -> SparkSession:
    """The Spark session of this process; a new one on all cores of this machine unless there is one already.

    ``config`` has further settings, and wins over those made here:
    ``local_session(**{"spark.sql.shuffle.partitions": 2})``. The user interface, the progress bar and everything but
    errors in the log are off. Spark runs on the Java that ``find_java`` finds, which is that of JAVA_HOME if it is
    usable, and its workers run on this Python; to say so to Spark, the environment variables JAVA_HOME,
    PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON of this process are set, and SPARK_LOCAL_IP if it was not.

    Raises MissingExtraError when pyspark is not installed, and PointsmanError ``no-java``. The caller ends the session
    with ``stop()``.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    os.environ["JAVA_HOME"] = str(_quiet(find_java().home))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**SETTINGS, **config}.items():
        builder = builder.config(key, str(value))
    return builder.getOrCreate()


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
