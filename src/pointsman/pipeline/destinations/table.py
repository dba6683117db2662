"""Deliveries as rows of a table, in any catalog that Spark has.

Rows are added if their delivery id is not among those of the same batch, so that a batch or a replay that is repeated
leaves nothing twice, also after a crash in the middle of it. A table that is not there is made, partitioned by
``batch``.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.destinations.place import Turn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BATCH = "batch"
_making = Lock()


class Table:
    """A table by its name, such as ``shop.audit`` or ``catalog.shop.audit``."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self._name = name
        self._options = options

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Adds what is not there. A column that the table does not have is an error of Spark."""
        from pyspark.sql import functions as sf

        spark = rows.sparkSession
        numbered = rows.withColumn(BATCH, sf.lit(turn.label).cast("bigint"))
        # The queries of a pipeline may come with their first batches at the same time.
        with _making:
            if not spark.catalog.tableExists(self._name):
                self._make(numbered.limit(0))
        known = spark.table(self._name)
        there = known.where(known[BATCH] == turn.label).select("delivery_id")
        missing = numbered.join(there, "delivery_id", "left_anti")
        spark.sql("INSERT INTO IDENTIFIER(:name) BY NAME SELECT * FROM {rows}", {"name": self._name}, rows=missing)
        return None

    def _make(self, rows: DataFrame) -> None:
        options = dict(self._options)
        writer = rows.write.partitionBy(BATCH).mode("append")
        if "using" in options:
            writer = writer.format(options.pop("using"))
        writer.options(**options).saveAsTable(self._name)
