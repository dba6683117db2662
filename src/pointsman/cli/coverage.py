"""``pointsman coverage``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson, show_json, visible
from pointsman.cli.progress import Messages, each_message
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.table.tools.coverage import Coverage
    from pointsman.table.tools.messages_file import Line


def coverage(
    table: TableFile,
    messages: Messages = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Also write a page of HTML.")] = None,
    minimum: Annotated[
        float | None,
        typer.Option("--minimum", metavar="PERCENT", min=0, max=100, help="End with 1 when fewer routes are covered."),
    ] = None,
    environment: Environment = None,
    json: AsJson = False,
) -> int:
    """Show which routes, destinations and translations the expectations, and a file of messages, exercise.

    Ends with 1 when fewer routes than --minimum are covered, with 2 when the table or a message is no use.
    """
    from pointsman.table.loading.document import places_in
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.coverage import Coverage
    from pointsman.table.tools.expectations import run_expectations

    loaded = RoutingTable.load(table, environment)
    counted = Coverage(loaded, places_in(table, "translations", environment) if loaded.translations else None)
    for _ in run_expectations(loaded, counted.record):
        pass
    if messages is not None:
        _replay(counted, messages)
    if html is not None:
        _write(counted, html)
    if json:
        show_json(counted.as_dict())
    else:
        _show(counted)
    return 1 if minimum is not None and counted.percent < minimum else 0


def _replay(counted: Coverage, messages: Path) -> None:
    from pointsman.table.tools.replay import Replay

    replay = Replay(counted.table)

    def record(line: Line) -> None:
        counted.record(replay.decide(line.message, principal=line.principal), line.message.subject)

    each_message(messages, record)


def _write(counted: Coverage, path: Path) -> None:
    from pointsman.table.tools.coverage import write_html

    try:
        path.write_text(write_html(counted), encoding="utf-8")
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None


def _show(counted: Coverage) -> None:
    from pointsman.table.tools.coverage import KINDS

    for kind in KINDS:
        entries = list(counted.entries(kind))
        exercised = sum(entry.count > 0 for entry in entries)
        if entries:
            typer.echo(f"{kind}s: {counted.percent_of(kind):.1f}% ({exercised} of {len(entries)})")
    routes = [entry for entry in counted.entries("route") if entry.count]
    if routes:
        width = max(len(entry.name) for entry in routes)
        typer.echo("\ncovered routes:")
        for entry in routes:
            typer.echo(f"  {entry.name:<{width}}  {entry.count:>7,}  {visible(', '.join(entry.subjects))}")
    if counted.uncovered:
        typer.echo("\nnot covered:")
        for entry in counted.uncovered:
            place = f"{entry.place}: " if entry.place else ""
            typer.echo(f"  {place}{entry.kind} {entry.name!r} ({entry.what})")
