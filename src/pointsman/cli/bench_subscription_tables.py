"""The tables of ``pointsman bench subscriptions``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pointsman.bench.subscriptions_files import FileRow
from pointsman.bench.subscriptions_rows import JOIN, SPARK, Row
from pointsman.cli.bench_table import Table, must_hold


def tables(results: Mapping[str, Sequence[Any]]) -> Iterator[Table]:
    """All of them, in the order in which they are read."""
    rows: Sequence[Row] = results["rows"]
    yield Table(
        "From a message to the wildcard subscriptions it reaches (CPU of one process; Spark: wall clock, two cores)",
        ("way", "subscriptions", "messages", "messages a second", "CPU us a message", "matches", "build s", "MB"),
        1,
        [_row(row) for row in rows],
    )
    updated = [row for row in rows if row.update_mean is not None]
    if updated:
        yield Table(
            "One subscription is created, changed or deleted: CPU us until the live form has taken it up",
            ("subscriptions", "median", "p90", "mean"),
            0,
            [_updates(row) for row in updated],
        )
    files: Sequence[FileRow] = results.get("files", ())
    if files:
        yield Table(
            "Files of subscriptions, by the wall clock",
            ("format", "subscriptions", "imported a second", "exported a second"),
            1,
            [_file(row) for row in files],
        )
    ways = [row for row in rows if row.mode]
    if ways:
        yield Table(
            "How messages meet the index on Spark",
            ("subscriptions", "mode, and why"),
            2,
            [(f"{row.subscriptions:,}", row.mode) for row in ways],
        )
    yield must_hold(results["required"])


def _row(row: Row) -> Sequence[str]:
    return (
        row.way,
        f"{row.subscriptions:,}",
        f"{row.messages:,}",
        f"{row.messages_per_second:,.0f}" if row.messages_per_second >= 10 else f"{row.messages_per_second:.2f}",
        "" if (spent := _cpu(row)) is None else f"{spent / row.messages * 1e6:,.1f}",
        f"{row.matches_per_message:.1f}",
        "" if row.build_seconds is None else f"{row.build_seconds:,.2f}",
        "" if row.build_bytes is None else f"{row.build_bytes / 1e6:,.1f}",
    )


def _updates(row: Row) -> Sequence[str]:
    spent = (row.update_median, row.update_p90, row.update_mean)
    return (f"{row.subscriptions:,}", *("" if each is None else f"{each:,.1f}" for each in spent))


def _file(row: FileRow) -> Sequence[str]:
    return (
        row.form,
        f"{row.subscriptions:,}",
        f"{row.imported_per_second:,.0f}",
        f"{row.exported_per_second:,.0f}",
    )


def _cpu(row: Row) -> float | None:
    """CPU time: where one process works, it is what was measured."""
    return row.cpu_seconds if row.way in (SPARK, JOIN) else row.seconds
