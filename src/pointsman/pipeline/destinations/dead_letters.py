"""Dead letters: deliveries that were not made, with the reason, until they are replayed.

<out>/dead/NAME/batch=N    those of a destination and a batch, as Parquet, with the column ``dead``
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pointsman.pipeline.destinations.place import file_name
from pointsman.pipeline.spark.files import Files

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

DEAD = "dead"
"""The column with the reason and the number of attempts."""


class Counts(NamedTuple):
    """What a folder of dead letters holds."""

    letters: int
    own: int
    """The letters that were not for another destination whose fallback this one is."""
    reason: str
    """One of the reasons."""
    by_route: dict[str, int]
    """The letters, by the route that sent them."""


def with_reason(rows: DataFrame, reason: Column, attempts: Column) -> DataFrame:
    """The deliveries as dead letters."""
    from pyspark.sql import functions as sf

    return rows.withColumn(DEAD, sf.struct(reason.alias("reason"), attempts.cast("int").alias("attempts")))


def write(letters: DataFrame, out: str, name: str, batch: int) -> Counts:
    """Writes the dead letters of a destination and a batch; replaces those of an earlier attempt at the batch."""
    path = f"{out}/{DEAD}/{file_name(name)}/batch={batch}"
    letters.write.mode("overwrite").parquet(path)
    return count(letters.sparkSession.read.schema(letters.schema).parquet(path))


def clear(files: Files, out: str, batch: int, kept: Iterable[str]) -> None:
    """Removes what an earlier attempt at a batch left for destinations other than those that are kept."""
    names = {file_name(name) for name in kept}
    for name in files.names(f"{out}/{DEAD}"):
        if name not in names:
            files.remove(f"{out}/{DEAD}/{name}/batch={batch}")


def count(letters: DataFrame) -> Counts:
    """Counts dead letters."""
    from pyspark.sql import functions as sf

    own = sf.isnull("instead_of") if "instead_of" in letters.columns else sf.lit(True)
    counted = letters.groupBy("route").agg(
        sf.count("*").alias("letters"), sf.count_if(own).alias("own"), sf.min(f"{DEAD}.reason").alias("reason")
    )
    rows = counted.collect()
    reason = min((row["reason"] for row in rows if row["reason"] is not None), default="")
    by_route = {row["route"]: row["letters"] for row in rows}
    return Counts(sum(by_route.values()), sum(row["own"] for row in rows), reason, by_route)
