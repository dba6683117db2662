"""Where Spark runs, and what a session needs that is right there and wrong elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The environment variable by which ``spark-submit`` tells a program of the Java that it has started for it."""
ON_THIS_MACHINE = {
    "spark.ui.enabled": "false",
    # A task for each core is plenty on one machine; Spark's 200 would be mostly empty.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
}
"""On a cluster, these are for its ``spark-defaults.conf`` to say."""


HEAP = "spark.driver.memory"
"""On this machine tasks run in the driver, and all of Spark in this heap."""
SMALLEST_HEAP, LARGEST_HEAP = 1024, 8192
"""In MB."""


def heap_size() -> str:
    """Java's heap, as Spark is told it: a quarter of the memory of this machine, or of what a container allows."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            found.append(int(Path(limit).read_text()))
    return f"{min(max(min(found) // 4 >> 20, SMALLEST_HEAP), LARGEST_HEAP)}m"


def is_local(master: str) -> bool:
    """Whether the driver and all workers are processes of this machine.

    >>> is_local("local[*]"), is_local("spark://host:7077"), is_local("yarn")
    (True, False, False)
    """
    return master.startswith("local")


def is_submitted(variables: Mapping[str, str]) -> bool:
    """Whether ``spark-submit`` has started this program: then it has chosen the master, the Java and the Python."""
    return SUBMITTED in variables


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
