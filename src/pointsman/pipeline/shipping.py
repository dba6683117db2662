"""Files that the driver ships to all workers, each once in the life of a Spark context."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

_shipping = Lock()


def ship_file(context: SparkContext, path: Path) -> str:
    """The name under which every worker finds the file, ``SparkFiles.get(name)``; that of the file itself.

    A file of a name that was shipped before is taken to be the same. Safe between threads.
    """
    with _shipping:
        if path.name not in {url.rpartition("/")[2] for url in context.listFiles}:
            context.addFile(str(path))
    return path.name
