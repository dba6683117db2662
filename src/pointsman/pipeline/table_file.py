"""A routing table, or the sections that a stage needs, as a file that the driver ships and each worker reads once."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pointsman.pipeline.whole_file import write_whole
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_shipping = Lock()


def part_of(table: RoutingTable, *sections: str) -> RoutingTable:
    """The table with these sections alone, ``access`` or ``translations`` say.

    A worker reads it sooner than the whole table. Its hash is the same as long as these sections and the dialect are,
    so that a new version of the other sections does not ship it again.
    """
    kept = ("version", "dialect", *sections)
    return RoutingTable.from_plain({key: value for key, value in table.plain.items() if key in kept})


def ship_table(spark: SparkSession, table: RoutingTable) -> str:
    """The name under which every worker finds the table: ``opened_table(SparkFiles.get(name))``.

    The name comes from the hash of the table, which is shipped once in the life of the Spark context; that removes the
    file when it ends. Safe between threads. Raises OSError when the file cannot be written, and leaves none then.
    """
    from pyspark import SparkFiles

    name = f"pointsman-{table.hash[:32]}.table"
    # Written where Spark keeps the files it ships, so that shipping on this host copies nothing.
    path = Path(SparkFiles.getRootDirectory(), name)
    with _shipping:
        if not path.exists():
            write_whole(path, json.dumps(table.plain, ensure_ascii=False).encode(errors="surrogatepass"))
            spark.sparkContext.addFile(str(path))
    return name


@lru_cache(maxsize=8)
def opened_table(path: str) -> RoutingTable:
    """The table in a shipped file, read once in the life of a process; of the same hash as the one shipped."""
    return RoutingTable.from_plain(json.loads(Path(path).read_bytes().decode(errors="surrogatepass")), path)
