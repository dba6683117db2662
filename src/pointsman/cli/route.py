"""``pointsman route``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson, show_json
from pointsman.cli.spark import Format, Options, doing, read_options, session

if TYPE_CHECKING:
    from pointsman.columns.output import BatchReport


def route(
    table: TableFile,
    messages: Annotated[
        str, typer.Option("--messages", "-m", metavar="IN", help="A file or folder of messages.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="OUT", help="The folder to be made.", show_default=False)],
    format: Format = None,
    option: Options = None,
    out_format: Annotated[
        str, typer.Option("--out-format", metavar="NAME", help="The format that is written.")
    ] = "parquet",
    out_option: Annotated[
        list[str] | None, typer.Option("--out-option", metavar="NAME=VALUE", help="An option of it; any number.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if it is there.")] = False,
    environment: Environment = None,
    principal: Annotated[
        str | None,
        typer.Option(
            "--principal", "-p", metavar="NAME", help="Who publishes all of them; else their own column says."
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="URL",
            help="Route on Spark, which runs there: local[*] is this machine. Without it this process routes.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Route the messages of a file or folder, once, and write what became of each.

    OUT gets the folders deliveries, quarantine and unrouted, and appears when all is written.
    """
    from pointsman.columns.output import check_free
    from pointsman.pipeline.formats import format_of
    from pointsman.table.routing_table import RoutingTable

    loaded = RoutingTable.load(table, environment)
    options, out_options = read_options(option), read_options(out_option)
    chosen = format or format_of(messages)
    check_free(out.absolute(), overwrite=overwrite)
    if master is None:
        from pointsman.columns import files

        with doing(f"Routing {messages} …"):
            report = files.route_files(
                messages,
                loaded,
                out,
                format_name=chosen,
                options=options,
                out_format=out_format,
                out_options=out_options,
                principal=principal,
                overwrite=overwrite,
            )
    else:
        from pointsman.pipeline.formats import read_messages
        from pointsman.pipeline.route_files import route_files

        with session("pointsman route", master) as spark, doing(f"Routing {messages} …"):
            report = route_files(
                read_messages(spark, messages, chosen, options),
                loaded,
                out,
                format_name=out_format,
                options=out_options,
                principal=principal,
                overwrite=overwrite,
            )
    if json:
        show_json(report.as_dict() | {"out": str(out)})
    else:
        _show(report, out)


def _show(report: BatchReport, out: Path) -> None:
    chosen = f", environment {report.environment}" if report.environment else ""
    typer.echo(f"table {report.table[:12]}{chosen}")
    _columns(
        ["route", "destination", "deliveries"], [(*each[:2], f"{each.deliveries:,}") for each in report.sent], right=2
    )
    _columns(
        ["quarantined at", "code", "rows", "for example"],
        [(each.stage, each.code, f"{each.rows:,}", each.reason) for each in report.set_aside],
        right=2,
    )
    typer.echo(
        f"\n{report.read:,} messages read = {report.delivered:,} delivered + {report.quarantined:,} quarantined"
        f" + {report.unrouted:,} unrouted; {report.deliveries:,} deliveries"
    )
    if report.partly:
        typer.echo(f"{report.partly:,} of those delivered are in the quarantine as well, for another route")
    typer.echo(f"written to {out}: deliveries, quarantine, unrouted, report.json")


def _columns(headings: list[str], rows: list[tuple[str, ...]], right: int) -> None:
    """Prints a table, if it has rows; the column of this number stands at the right of its place."""
    if not rows:
        return
    shown = [tuple(headings), *((*row,) for row in rows)]
    widths = [max(len(row[number]) for row in shown) for number in range(len(headings))]
    typer.echo()
    for row in shown:
        cells = [
            cell.rjust(width) if number == right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        typer.echo("  ".join(cells).rstrip())
