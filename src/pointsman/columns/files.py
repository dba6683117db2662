"""One batch, from files to files, in this process: what ``pointsman route`` does without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.columns.message_files import ON_SPARK, read_files, set_column
from pointsman.columns.output import BatchReport, Tally, new_folder
from pointsman.columns.routed import route
from pointsman.columns.row_files import Folder, check_format
from pointsman.errors import InputError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

NO_OPTIONS: Mapping[str, str] = {}
MESSAGE = "pointsman_message"
"""The column with the number of the message."""
NAMED_PRINCIPAL = "pointsman_principal"
"""The column ``principal`` while another principal stands for all messages."""
GUARDED = ("instead_of", "probe", "waits")
"""Columns that only tables with circuit breakers need."""


class Outcome(NamedTuple):
    """What became of a chunk of messages, as it is written."""

    deliveries: pa.Table
    quarantine: pa.Table
    unrouted: pa.Table


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
    tally, state = Tally(), State()
    with new_folder(out, overwrite=overwrite) as draft:
        folders = [
            Folder(draft / name, out_format, out_options, "destination" if name == "deliveries" else None)
            for name in Outcome._fields
        ]
        try:
            for number, chunk in enumerate(read_files(Path(messages), format_name, options)):
                prepared = _prepared(chunk.rows, tally.read)
                if principal is not None:
                    prepared = _renamed(prepared, "principal", NAMED_PRINCIPAL)
                wrong = prepared["problem"].is_valid()
                fine = prepared.filter(pc.invert(wrong)).drop_columns("problem")
                routed = route(fine, table, principal=principal, state=state, now=0.0, seed=number)
                state = routed.state
                refused = _refused(prepared.filter(wrong))
                quarantine = pa.concat_tables([refused, routed.quarantine.select(refused.column_names)])
                quarantine = quarantine.take(pc.sort_indices(quarantine[MESSAGE]))
                _count(tally, len(chunk.rows), routed.deliveries, quarantine, len(routed.unrouted))
                outcome = Outcome(_deliveries(routed.deliveries, table), quarantine, routed.unrouted)
                for folder, rows in zip(folders, outcome, strict=True):
                    told = _renamed(rows.drop_columns(MESSAGE), NAMED_PRINCIPAL, "principal")
                    folder.add(told.rename_columns([chunk.names.get(name, name) for name in told.column_names]))
            for folder in folders:
                folder.close()
        finally:
            for folder in folders:
                folder.abandon()
        report = tally.report(table)
        report.write(draft)
    return report


def _prepared(made: pa.Table, first: int) -> pa.Table:
    """The messages with an id each, and with ``MESSAGE``."""
    rows = pa.array(np.arange(first, first + len(made), dtype=np.int64))
    ids = made["id"].combine_chunks() if "id" in made.column_names else pa.nulls(len(made), pa.string())
    missing = pc.or_kleene(ids.is_null(), pc.equal(ids, ""))
    if "id" not in made.column_names or pc.any(missing).as_py():
        made = set_column(made, "id", pc.if_else(missing, _new_ids(made, missing, rows), ids))
    return made.append_column(MESSAGE, rows)


def _new_ids(rows: pa.Table, missing: pa.Array[Any], numbers: pa.Array[Any]) -> pa.Array[Any]:
    """Ids that follow from what a message holds and from its place."""
    bodies = rows["body"].cast(pa.binary()) if "body" in rows.column_names else pa.nulls(len(rows), pa.binary())
    subjects = rows["subject"].cast(pa.binary())

    def make(is_missing: bool, subject: bytes | None, body: bytes | None, number: int) -> str | None:
        if not is_missing:
            return None
        return f"{blake2b((subject or b'') + bytes(1) + (body or b''), digest_size=8).hexdigest()}-0-{number}"

    columns = zip(*(each.to_pylist() for each in (missing, subjects, bodies, numbers)), strict=True)
    return pa.array(list(starmap(make, columns)), pa.string())


def _refused(rows: pa.Table) -> pa.Table:
    """What could not be received, with the columns of the quarantine."""
    made = rows.append_column("original_subject", rows["subject"])
    return made.append_column("route", pa.nulls(len(rows), pa.string()))


def _deliveries(rows: pa.Table, table: RoutingTable) -> pa.Table:
    guarded = any(each.breaker is not None for each in table.destinations.values())
    return rows if guarded else rows.drop_columns(list(GUARDED))


def _count(tally: Tally, read: int, deliveries: pa.Table, quarantine: pa.Table, unrouted: int) -> None:
    tally.read += read
    tally.unrouted += unrouted
    sent, aside = (np.unique(each[MESSAGE].to_numpy()) for each in (deliveries, quarantine))
    partly = len(np.intersect1d(sent, aside, assume_unique=True))
    tally.partly += partly
    tally.delivered += len(sent)
    tally.quarantined += len(aside) - partly
    counted = deliveries.group_by(["route", "destination"]).aggregate([([], "count_all")])
    for name, destination, count in zip(*(counted[each].to_pylist() for each in counted.column_names), strict=True):
        tally.sent[name, destination] += count
    problems = quarantine["problem"].combine_chunks()
    told = pa.table(problems.flatten(), ["stage", "code", "reason"])
    counted = told.group_by(["stage", "code"]).aggregate([([], "count_all"), ("reason", "min")])
    for row in counted.to_pylist():
        tally.set_apart(row["stage"], row["code"], row["count_all"], row["reason_min"])


def _renamed(rows: pa.Table, name: str, new: str) -> pa.Table:
    return rows.rename_columns([new if each == name else each for each in rows.column_names])
