"""One batch, from files to files: messages are routed by a table, and what became of each of them is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.columns.output import BatchReport, new_folder
from pointsman.pipeline.columns import PROBLEM
from pointsman.pipeline.destinations.folder import save
from pointsman.pipeline.formats import NO_OPTIONS
from pointsman.pipeline.shared_folder import check_shared
from pointsman.pipeline.spark.errors import spark_errors
from pointsman.pipeline.stages import DELIVERED, OUTCOME, QUARANTINED, UNROUTED, route
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGE = "pointsman_message"


def route_files(
    messages: DataFrame,
    table: RoutingTable,
    out: Path,
    *,
    format_name: str = "parquet",
    options: Mapping[str, str] = NO_OPTIONS,
    principal: str | None = None,
    overwrite: bool = False,
) -> BatchReport:
    """Routes the messages and writes the folders ``deliveries``, ``quarantine`` and ``unrouted``, and ``report.json``.

    Deliveries have a folder for each destination. The folder ``out`` appears when all is written; after a failure there
    is what was there before. Raises what ``route`` raises, and ``InputError``: ``folder-exists``, ``spark-failed``,
    ``folder-elsewhere`` if the workers of a cluster do not share the folder, and ``uneven-batch`` if the messages do
    not add up.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as sf

    with new_folder(out, overwrite=overwrite) as draft, spark_errors(str(out)):
        check_shared(messages.sparkSession, str(draft))
        numbered = messages.withColumn(MESSAGE, sf.monotonically_increasing_id())
        found = route(numbered, table, principal=principal)
        rows = found.rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            report = _count(messages.count(), rows, table)
            routed = found._replace(rows=rows.drop(MESSAGE))
            save(routed.deliveries, format_name, options, f"{draft}/deliveries", by=("destination",))
            save(routed.quarantine, format_name, options, f"{draft}/quarantine")
            save(routed.unrouted, format_name, options, f"{draft}/unrouted")
        finally:
            rows.unpersist()
        report.write(draft)
    return report


def _count(read: int, rows: DataFrame, table: RoutingTable) -> BatchReport:
    from pyspark.sql import functions as sf

    problem, sends = rows[PROBLEM], rows[OUTCOME] == DELIVERED
    keys = [OUTCOME, "route", "destination", "stage", "code"]
    marked = rows.select(
        OUTCOME,
        sf.when(sends, rows["route"]).alias("route"),
        "destination",
        problem["stage"].alias("stage"),
        problem["code"].alias("code"),
        problem["reason"].alias("reason"),
    )
    groups = marked.groupBy(*keys).agg(sf.count("*").alias("rows"), sf.min("reason").alias("reason")).collect()
    outcomes = rows.groupBy(MESSAGE).agg(sf.sort_array(sf.collect_set(OUTCOME)).alias("outcomes"))
    counted = {tuple(row["outcomes"]): row["count"] for row in outcomes.groupBy("outcomes").count().collect()}
    partly = counted.get((DELIVERED, QUARANTINED), 0)
    report = BatchReport(
        table.hash,
        table.environment,
        read,
        counted.get((DELIVERED,), 0) + partly,
        counted.get((QUARANTINED,), 0),
        counted.get((UNROUTED,), 0),
        partly,
    )
    for row in groups:
        if row[OUTCOME] == DELIVERED:
            report.by_route[row["route"], row["destination"]] += row["rows"]
        elif row[OUTCOME] == QUARANTINED:
            report.set_apart(row["stage"], row["code"], row["rows"], row["reason"])
    report.check()
    return report
