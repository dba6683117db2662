"""Dead letters: the deliveries that were not made, with the reason, until they are replayed.

<out>/dead/NAME/batch=N    those of a destination and a batch, as Parquet, with the column ``dead``
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pointsman.pipeline.destinations.place import file_name
from pointsman.pipeline.spark.files import files_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

DEAD = "dead"
"""The column that says why, and how often it was attempted."""


class Buried(NamedTuple):
    """What a folder of dead letters holds."""

    letters: int
    own: int
    """Of them, those that were not for another destination whose fallback this one is."""
    reason: str
    """One of the reasons."""
    by_route: dict[str, int]
    """The letters, by the route that sent them."""


def with_reason(rows: DataFrame, reason: Column, attempts: Column) -> DataFrame:
    """The deliveries as dead letters."""
    from pyspark.sql import functions as sf

    return rows.withColumn(DEAD, sf.struct(reason.alias("reason"), attempts.cast("int").alias("attempts")))


class Graveyard:
    """The dead letters of a pipeline."""

    def __init__(self, out: str) -> None:
        self._path = f"{out}/{DEAD}"

    def folder(self, name: str, batch: int) -> str:
        """Where those of a destination and a batch are."""
        return f"{self._path}/{file_name(name)}/batch={batch}"

    def bury(self, letters: DataFrame, name: str, batch: int) -> Buried:
        """Writes dead letters, in the place of what an earlier attempt at the batch has left."""
        path = self.folder(name, batch)
        letters.write.mode("overwrite").parquet(path)
        return count(letters.sparkSession.read.schema(letters.schema).parquet(path))

    def clear(self, spark: SparkSession, batch: int, names: set[str]) -> None:
        """Removes what an earlier attempt at a batch has left for other destinations than these."""
        files = files_of(spark)
        kept = {file_name(name) for name in names}
        for name in files.names(self._path):
            if name not in kept:
                files.remove(f"{self._path}/{name}/batch={batch}")


def count(letters: DataFrame) -> Buried:
    """How many there are."""
    from pyspark.sql import functions as sf

    own = sf.isnull("instead_of") if "instead_of" in letters.columns else sf.lit(True)
    rows = (
        letters.groupBy("route")
        .agg(sf.count("*").alias("letters"), sf.count_if(own).alias("own"), sf.min(f"{DEAD}.reason").alias("reason"))
        .collect()
    )
    reason = min((row["reason"] for row in rows if row["reason"] is not None), default="")
    by_route = {row["route"]: row["letters"] for row in rows}
    return Buried(sum(by_route.values()), sum(row["own"] for row in rows), reason, by_route)
