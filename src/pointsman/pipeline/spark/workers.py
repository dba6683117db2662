"""The process from which Spark forks its Python workers.

Spark starts many of them, one for each function in Python that a task calls. What they all need is imported here, once,
before they are forked, instead of a second of work in each.
"""

from __future__ import annotations

import gc
from importlib import import_module
from importlib.util import find_spec

OWN = (
    "pointsman.columns.receive",
    "pointsman.columns.batch",
    "pointsman.pipeline.crossing",
    "pointsman.pipeline.correlation.states",
    "pointsman.matching.remembered",
)
NEEDED = ("pyarrow.compute", "pandas", "numba", "pyspark.worker", *OWN)
"""What is there of these is imported."""


def preload() -> None:
    """Imports what the workers need, as far as it is installed."""
    for name in NEEDED:
        if find_spec(name.partition(".")[0]) is not None:
            import_module(name)
    # Each worker looks for what can be collected after each of its tasks; what is imported here never can.
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()
