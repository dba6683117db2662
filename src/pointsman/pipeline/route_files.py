"""One batch, from files to files: messages are routed by a table, and what became of each of them is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError
from pointsman.pipeline.formats import NO_OPTIONS, write_frame
from pointsman.pipeline.new_folder import new_folder
from pointsman.pipeline.problem import PROBLEM
from pointsman.pipeline.shared_folder import check_shared
from pointsman.pipeline.spark_errors import spark_errors
from pointsman.pipeline.stages import DELIVERED, OUTCOME, QUARANTINED, UNROUTED, route
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MESSAGE = "pointsman_message"
REPORT = "report.json"


class Sent(NamedTuple):
    """How many deliveries a route made to a destination."""

    route: str
    destination: str
    deliveries: int


class SetAside(NamedTuple):
    """How many rows of the quarantine a stage has made, and the reason that one of them has.

    A message has one, or one for each route that could not choose a destination.
    """

    stage: str
    code: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of the messages of a batch."""

    table: str
    """The hash of the table."""
    environment: str | None
    read: int
    delivered: int
    """Messages with at least one delivery."""
    quarantined: int
    """Messages without a delivery that something is wrong with."""
    unrouted: int
    partly: int
    """Messages that are delivered by one route, and quarantined by another that could not choose a destination."""
    sent: tuple[Sent, ...]
    set_aside: tuple[SetAside, ...]

    @property
    def deliveries(self) -> int:
        """All of them."""
        return sum(each.deliveries for each in self.sent)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "table": self.table,
            "environment": self.environment,
            "messages": {
                "read": self.read,
                "delivered": self.delivered,
                "quarantined": self.quarantined,
                "unrouted": self.unrouted,
                "partly": self.partly,
            },
            "deliveries": self.deliveries,
            "sent": [each._asdict() for each in self.sent],
            "quarantine": [each._asdict() for each in self.set_aside],
        }


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
            write_frame(routed.deliveries, draft / "deliveries", format_name, options, ("destination",))
            write_frame(routed.quarantine, draft / "quarantine", format_name, options)
            write_frame(routed.unrouted, draft / "unrouted", format_name, options)
        finally:
            rows.unpersist()
        (draft / REPORT).write_text(json.dumps(report.as_dict(), ensure_ascii=False, indent=2) + "\n", "utf-8")
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
    sent = [Sent(row["route"], row["destination"], row["rows"]) for row in groups if row[OUTCOME] == DELIVERED]
    aside = [
        SetAside(row["stage"], row["code"], row["rows"], row["reason"]) for row in groups if row[OUTCOME] == QUARANTINED
    ]
    report = BatchReport(
        table.hash,
        table.environment,
        read,
        counted.get((DELIVERED,), 0) + partly,
        counted.get((QUARANTINED,), 0),
        counted.get((UNROUTED,), 0),
        partly,
        tuple(sorted(sent, key=lambda each: (-each.deliveries, each.route, each.destination))),
        tuple(sorted(aside, key=lambda each: (-each.rows, each.stage, each.code))),
    )
    parts = (report.delivered, report.quarantined, report.unrouted)
    if sum(parts) != read:
        problem_text = f"{read} messages were read, but {' + '.join(map(str, parts))} = {sum(parts)} have an outcome"
        raise InputError("uneven-batch", problem_text)
    return report
