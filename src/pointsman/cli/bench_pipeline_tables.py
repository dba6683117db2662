"""The tables of ``pointsman bench pipeline``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pointsman.bench.pipeline_memory import MemoryRow
from pointsman.bench.pipeline_rows import ROWS, Row, StateRow, StreamRow
from pointsman.cli.bench_table import Table, must_hold


def tables(results: Mapping[str, Sequence[Any]]) -> Iterator[Table]:
    """All of them, in the order in which they are read."""
    rows: Sequence[Row] = results["rows"]
    whole = {row.stream: row.messages_per_second for row in rows if row.stage == ROWS}
    yield Table(
        "From Parquet to nowhere on two cores (best of several rounds); share: of whole rows through mapInArrow",
        (
            "stage",
            "subscriptions",
            "subjects",
            "messages",
            "messages a second",
            "share",
            "CPU us a message",
            "rows out",
        ),
        1,
        [_stage(row, whole.get(row.stream)) for row in (*rows, *results["naive"])],
    )
    yield Table(
        "Streams of files",
        ("stage", "subscriptions", "messages a batch", "messages a second", "median batch", "longest batch"),
        1,
        [_stream(row) for row in results["streams"]],
    )
    yield Table(
        "State by correlation id (best batch after the first)",
        ("what", "keys a batch", "messages a batch", "buckets", "first batch", "keys a second", "CPU us a key"),
        1,
        [_state(row) for row in results["state"]],
    )
    yield must_hold(results["required"])


def memory_tables(results: Mapping[str, Sequence[Any]]) -> Iterator[Table]:
    """Those of ``pointsman bench memory``."""
    [taken] = results["seconds"]
    rows: Sequence[MemoryRow] = results["rows"]
    yield Table(
        f"{taken.messages:,} messages in {taken.seconds:,.0f} s with a heap of {taken.heap}: the most resident, in MB",
        ("after messages", "Java", "driver's Python", "largest worker", "workers"),
        1,
        [
            (
                f"{row.messages:,}",
                f"{row.java:,.0f}",
                f"{row.driver:,.0f}",
                f"{row.largest_worker:,.0f}",
                str(row.workers),
            )
            for row in rows
        ],
    )
    yield must_hold(results["required"])


def _stage(row: Row, whole: float | None) -> Sequence[str]:
    return (
        row.stage,
        "" if row.subscriptions is None else f"{row.subscriptions:,}",
        row.stream,
        f"{row.messages:,}",
        f"{row.messages_per_second:,.0f}",
        "" if whole is None else f"{row.messages_per_second / whole:.3g}",
        "" if row.cpu_seconds is None else f"{row.cpu_seconds / row.messages * 1e6:,.2f}",
        f"{row.rows_per_message:.1f}",
    )


def _stream(row: StreamRow) -> Sequence[str]:
    return (
        row.stage,
        f"{row.subscriptions:,}",
        f"{row.batch:,}",
        f"{row.messages_per_second:,.0f}",
        f"{row.median_seconds:.2f} s",
        f"{row.longest_seconds:.2f} s",
    )


def _state(row: StateRow) -> Sequence[str]:
    return (
        row.what,
        f"{row.keys:,}",
        f"{row.events:,}",
        f"{row.buckets:,}",
        f"{row.seconds[0]:.1f} s",
        f"{row.keys_per_second:,.0f}",
        "" if row.cpu_seconds is None else f"{row.cpu_seconds / row.keys * 1e6:,.1f}",
    )
