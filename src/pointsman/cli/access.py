"""``pointsman access``: who may use what, by a routing table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pointsman.cli.explain import Environment, TableFile
from pointsman.cli.output import AsJson, show_json, visible
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.access import Access

app = typer.Typer(help="Who may use what, by a routing table.", no_args_is_help=True, rich_markup_mode=None)

Operation = Annotated[
    Literal["publish", "subscribe"], typer.Option("--operation", "-o", metavar="NAME", help="publish or subscribe.")
]


@app.command()
def explain(
    table: TableFile,
    principal: Annotated[str, typer.Argument(metavar="PRINCIPAL", help="Who.")],
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="What.")],
    operation: Operation = "publish",
    environment: Environment = None,
    json: AsJson = False,
) -> int:
    """Say whether a principal may use a subject, and which rule decides."""
    verdict = _access(table, environment).check(principal, operation, subject)
    if json:
        rule = None if verdict.rule is None else str(verdict.rule)
        show_json({"allowed": verdict.allowed, "rule": rule, "reason": verdict.reason})
    else:
        typer.echo(visible(verdict.reason))
    return 0 if verdict.allowed else 1


@app.command("list")
def list_access(
    table: TableFile,
    principal: Annotated[
        str | None, typer.Option("--principal", "-p", metavar="NAME", help="List the topics that this one may use.")
    ] = None,
    topics: Annotated[
        Path | None, typer.Option("--topics", metavar="FILE", help="The topics, one a line; - is the standard input.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", metavar="SUBJECT", help="List the principals that may use this one.")
    ] = None,
    operation: Operation = "publish",
    environment: Environment = None,
    json: AsJson = False,
) -> int:
    """List the topics of a file that a principal may use, or the principals that may use a topic."""
    access = _access(table, environment)
    if topic is not None and principal is None and topics is None:
        found = access.principals_for(operation, topic)
    elif topic is None and principal is not None and topics is not None:
        found = access.topics_for(principal, operation, _lines(topics))
    else:
        raise InputError("bad-usage", "give either --topic, or --principal and --topics")
    if json:
        show_json(found)
    else:
        for each in found:
            typer.echo(visible(each))
    return 0 if found else 1


def _access(table: Path, environment: str | None) -> Access:
    from pointsman.table.routing_table import RoutingTable

    access = RoutingTable.load(table, environment).access
    if access is None:
        raise InputError("no-access", "the table has no access rules", file=str(table))
    return access


def _lines(path: Path) -> list[str]:
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("no-file", f"it cannot be read: {error}", file=str(path)) from None
    return [line.strip() for line in text.splitlines() if line.strip()]
