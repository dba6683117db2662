"""The tables that ``pointsman bench`` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import typer

WIDTH = 130


def show_patterns(rows: Iterable[Any]) -> None:
    """One pattern, one subject."""
    _show(
        "Microseconds a match (CPU, best of 5)",
        ("case", "pattern", "Pattern", "re", "re / Pattern"),
        2,
        (
            (row.name, row.shown, f"{row.pattern:.2f}", f"{row.regex:.2f}", f"{row.regex / row.pattern:.1f}")
            for row in rows
        ),
    )


def show_match(results: dict[str, list[Any]]) -> None:
    """One subject, all patterns; and what must hold."""
    from pointsman.cli.bench_table import must_hold

    _show(
        "From a subject to all patterns that match it (CPU, best of several)",
        (
            "engine",
            "stream",
            "patterns",
            "ns a message",
            "matches",
            "matches a second",
            "build s",
            "bytes a pattern",
        ),
        2,
        (
            (
                row.engine,
                row.stream,
                f"{row.patterns:,}",
                f"{row.nanoseconds:,.0f}",
                f"{row.matches:.1f}",
                f"{row.matches_per_second / 1e6:,.2f} M",
                _number(row.build_seconds, ",.3f"),
                _number(row.bytes_per_pattern, ",.0f"),
            )
            for row in results["rows"]
        ),
    )
    _show(*must_hold(results["required"]))


def show_terms(rows: Iterable[Any]) -> None:
    """The metadata of a message, all matchers."""
    _show(
        "Nanoseconds a message, by stream (CPU, best of 5)",
        ("engine", "matchers", "distinct", "repeated", "missing", "matches a message", "build s", "bytes a matcher"),
        1,
        (
            (
                row.engine,
                f"{row.matchers:,}",
                *(f"{value:,.0f}" for value in (row.distinct, row.repeated, row.missing)),
                f"{row.matches:.1f}",
                f"{row.build_seconds:,.3f}",
                _number(row.bytes_per_matcher, ",.0f"),
            )
            for row in rows
        ),
    )


def show_startup(rows: Iterable[Any]) -> None:
    """A new process until its first answer."""
    from pointsman.bench.startup import LIMIT

    rows = list(rows)
    shown = ((row.step, f"{row.cpu:.2f}", f"{row.wall:.2f}") for row in rows)
    _show("Seconds to the first answer", ("step", "CPU", "wall clock"), 1, shown)
    typer.echo(f"At most {LIMIT:g} s of CPU: {'held' if rows[-1].cpu <= LIMIT else 'not held'}")


def show_table(rows: Iterable[Any]) -> None:
    """Loading a routing table, and deciding by it."""
    _show(
        "The routing table (CPU, best of several)",
        ("what", "measured", "limit", ""),
        1,
        (
            (
                row.what,
                f"{row.measured:,.2f} {row.unit}".rstrip(),
                "" if row.limit is None else f"at most {row.limit:g}",
                "" if row.limit is None else "held" if row.measured <= row.limit else "not held",
            )
            for row in rows
        ),
    )


def show_queue(results: dict[str, Any]) -> None:
    """The durable queue beside its peers; and what must hold."""
    from pointsman.cli.bench_queue_tables import LEGEND, tables

    for disk in results["disk"]:
        typer.echo(f"File system: {disk.file_system}; a write with fdatasync: {disk.fdatasync_milliseconds:.2f} ms")
    typer.echo(LEGEND)
    for table in tables(results):
        _show(*table)


def show_pipeline(results: dict[str, Any]) -> None:
    """The pipeline on Spark; and what must hold."""
    from pointsman.cli.bench_pipeline_tables import tables

    for table in tables(results):
        _show(*table)


def show_subscriptions(results: dict[str, Any]) -> None:
    """Wildcard subscriptions by the million; and what must hold."""
    from pointsman.cli.bench_subscription_tables import tables

    for table in tables(results):
        _show(*table)


def show_memory(results: dict[str, Any]) -> None:
    """A long run; and whether it is flat."""
    from pointsman.cli.bench_pipeline_tables import memory_tables

    for table in memory_tables(results):
        _show(*table)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _show(title: str, headings: Sequence[str], texts: int, rows: Iterable[Sequence[str]]) -> None:
    """A table whose first columns are texts and whose others are numbers."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number < texts else "right")
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        # A file has no edge to break lines at.
        console.width = WIDTH
    console.print(table)


SHOW: dict[str, Callable[[Any], None]] = {
    "patterns": show_patterns,
    "match": show_match,
    "terms": show_terms,
    "startup": show_startup,
    "table": show_table,
    "queue": show_queue,
    "pipeline": show_pipeline,
    "subscriptions": show_subscriptions,
    "memory": show_memory,
}
