"""One batch, from files to files, in this process: what ``pointsman route`` does without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.columns.message_files import ON_SPARK, Chunk, read_files, set_column
from pointsman.columns.output import BatchReport, new_folder
from pointsman.columns.receive import PROBLEM
from pointsman.columns.routed import Routed, route
from pointsman.columns.row_files import Folder, check_format
from pointsman.errors import InputError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

NO_OPTIONS: Mapping[str, str] = {}
MESSAGE = "pointsman_message"
"""The column with the number of the message."""
GUARDED = ("instead_of", "probe", "waits")
"""Columns that only tables with circuit breakers need."""


def route_files(
    messages: str | Path,
    table: RoutingTable,
    out: Path,
    *,
    format_name: str,
    options: Mapping[str, str] = NO_OPTIONS,
    out_format: str = "parquet",
    out_options: Mapping[str, str] = NO_OPTIONS,
    principal: str | None = None,
    overwrite: bool = False,
) -> BatchReport:
    """Routes the messages of a file or folder and writes what ``pipeline.route_files.route_files`` writes.

    They are read, routed and written chunk by chunk, in the order of files and lines; balances go on from one to the
    next. The formats are ``json``, ``csv`` and ``parquet``. The folder ``out`` appears when all is written; after a
    failure there is what was there before. Raises what ``columns.route`` raises, and ``InputError``: ``folder-exists``,
    ``no-file``, ``bad-usage`` for what only Spark can read or write, ``uneven-batch`` if the messages do not add up.
    """
    if "://" in str(messages):
        raise InputError("bad-usage", f"a URL is read by Spark alone; {ON_SPARK}", file=str(messages))
    check_format(out_format, out_options)
    report, state = BatchReport(table.hash, table.environment), State()
    unneeded = [] if any(each.breaker for each in table.destinations.values()) else list(GUARDED)
    with new_folder(out, overwrite=overwrite) as draft:
        deliveries = Folder(draft / "deliveries", out_format, out_options, "destination")
        quarantine = Folder(draft / "quarantine", out_format, out_options)
        unrouted = Folder(draft / "unrouted", out_format, out_options)
        try:
            for number, chunk in enumerate(read_files(Path(messages), format_name, options)):
                rows = _numbered(chunk.rows, report.read)
                wrong = rows["problem"].is_valid()
                fine = rows.filter(pc.invert(wrong)).drop_columns("problem")
                routed = route(fine, table, principal=principal, state=state, now=0.0, seed=number)
                state = routed.state
                aside = _quarantine(rows.filter(wrong), routed)
                _count(report, len(rows), routed, aside)
                deliveries.add(_named(routed.deliveries.drop_columns(unneeded), chunk))
                quarantine.add(_named(aside, chunk))
                unrouted.add(_named(routed.unrouted, chunk))
            for folder in (deliveries, quarantine, unrouted):
                folder.close()
        finally:
            for folder in (deliveries, quarantine, unrouted):
                folder.abandon()
        report.check()
        report.write(draft)
    return report


def _numbered(rows: pa.Table, first: int) -> pa.Table:
    """The messages with ``MESSAGE``, and with an id each: a new one follows from what it holds and from its number."""
    numbers = range(first, first + len(rows))
    ids = rows["id"].to_pylist() if "id" in rows.column_names else [None] * len(rows)
    if not all(ids):
        subjects = rows["subject"].cast(pa.binary()).to_pylist()
        bodies = rows["body"].cast(pa.binary()).to_pylist() if "body" in rows.column_names else [None] * len(rows)
        contents = [bytes(1).join([a or b"", b or b""]) for a, b in zip(subjects, bodies, strict=True)]
        ids = [
            id or f"{blake2b(content, digest_size=8).hexdigest()}-0-{number}"
            for id, content, number in zip(ids, contents, numbers, strict=True)
        ]
        rows = set_column(rows, "id", pa.array(ids, pa.string()))
    return rows.append_column(MESSAGE, pa.array(numbers, pa.int64()))


def _quarantine(refused: pa.Table, routed: Routed) -> pa.Table:
    """What could not be received, and what was set aside later, in the order of the messages."""
    refused = refused.append_column("original_subject", refused["subject"])
    refused = refused.append_column("route", pa.nulls(len(refused), pa.string()))
    every = pa.concat_tables([refused, routed.quarantine.select(refused.column_names)])
    return every.take(pc.sort_indices(every[MESSAGE]))


def _named(rows: pa.Table, chunk: Chunk) -> pa.Table:
    """The rows as they are written, with the columns as the files spell them."""
    told = rows.drop_columns(MESSAGE)
    return told.rename_columns([chunk.names.get(name, name) for name in told.column_names])


def _count(report: BatchReport, read: int, routed: Routed, quarantine: pa.Table) -> None:
    sent, aside = (np.unique(each[MESSAGE].to_numpy()) for each in (routed.deliveries, quarantine))
    partly = len(np.intersect1d(sent, aside, assume_unique=True))
    report.read += read
    report.delivered += len(sent)
    report.quarantined += len(aside) - partly
    report.unrouted += len(routed.unrouted)
    report.partly += partly
    counted = routed.deliveries.group_by(["route", "destination"]).aggregate([([], "count_all")])
    for row in counted.to_pylist():
        report.by_route[row["route"], row["destination"]] += row["count_all"]
    told = pa.table(quarantine["problem"].combine_chunks().flatten(), PROBLEM.names)
    counted = told.group_by(["stage", "code"]).aggregate([([], "count_all"), ("reason", "min")])
    for row in counted.to_pylist():
        report.set_apart(row["stage"], row["code"], row["count_all"], row["reason_min"])
