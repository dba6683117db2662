"""What a pipeline delivers for wildcard subscriptions, besides what its routes deliver."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.errors import InputError
from pointsman.pipeline.compiled_subscriptions import CompiledSubscriptions
from pointsman.pipeline.destinations.choice import names_of
from pointsman.pipeline.resolve_conditions import ID
from pointsman.pipeline.subscription_flow import with_destinations
from pointsman.pipeline.subscription_versions import SubscriptionVersions, read_files
from pointsman.pipeline.versions import Tables, Tell
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Subscribed:
    """The subscriptions of a file, whose newest version each batch takes up, or the one that it began with before."""

    def __init__(self, spark: SparkSession, path: str, tables: Tables, checkpoint: Path, tell: Tell) -> None:
        """The checkpoint is one of its own. Raises as ``SubscriptionVersions``, and ``InputError``
        (``bad-subscription``) for one whose destination is none of the table.
        """

        def read(spark: SparkSession, path: str | Path) -> DataFrame:
            found = with_destinations(read_files(spark, path))
            _check_destinations(found, tables.table, str(path))
            return found

        self._versions = SubscriptionVersions.of_files(spark, path, checkpoint, read=read, tell=tell)
        current = self._versions.current()
        tell("subscriptions", version=current.version, mode=current.mode, why=current.why)

    def version(self, batch: int) -> str:
        """What a batch works with; it is recorded before this returns."""
        return self._versions.of_batch(batch).version

    def of_batch(self, batch: int) -> CompiledSubscriptions:
        """The subscriptions that a batch works with."""
        return self._versions.of_batch(batch)


def _check_destinations(subscriptions: DataFrame, table: RoutingTable, path: str) -> None:
    """Raises ``InputError`` (``bad-subscription``); so there are never more destinations than tables had."""
    from pyspark.sql import functions as sf

    known = subscriptions.sparkSession.createDataFrame([(name,) for name in names_of(table)], "name string")
    asked = subscriptions.select(f"{ID}.id", sf.explode(f"{ID}.destinations").alias("name"))
    wrong = asked.join(sf.broadcast(known), "name", "left_anti").first()
    if wrong is not None:
        problem = f"subscription {wrong['id']!r}: the table has no destination {wrong['name']!r}"
        raise InputError("bad-subscription", problem, file=path)
