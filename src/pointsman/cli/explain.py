"""``pointsman explain``."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json, visible
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.message import Message
    from pointsman.table.decision import Decision, Step

WIDEST = 10_000

Environment = Annotated[
    str | None, typer.Option("--environment", "-e", metavar="NAME", help="Which environment of the table.")
]
TableFile = Annotated[
    Path, typer.Argument(metavar="TABLE", help="The YAML file of the routing table.", show_default=False)
]


def explain(
    table: TableFile,
    message: Annotated[
        str,
        typer.Argument(metavar="MESSAGE", help="A subject, a message as JSON, or a file of one; - is standard input."),
    ],
    principal: Annotated[
        str | None,
        typer.Option("--principal", "-p", metavar="NAME", help="Who publishes it; without one, access is not asked."),
    ] = None,
    environment: Environment = None,
    json: AsJson = False,
) -> int:
    """Show stage by stage what a routing table does with a message, and why."""
    from pointsman.table.routing_table import RoutingTable

    loaded = RoutingTable.load(table, environment)
    decision = loaded.decide(read_message(message), principal=principal, trace=True)
    if json:
        show_json({"table": loaded.hash, **decision.as_dict()})
    else:
        _show(loaded.hash, decision)
    return 1 if decision.refused is not None or not decision.deliveries else 0


def read_message(text: str) -> Message:
    """The message that an argument says. Raises ``InputError`` (``bad-message``)."""
    from pointsman.message import Message

    if text == "-":
        text = sys.stdin.read().strip()
    elif not text.startswith("{") and _is_file(text):
        text = _read(Path(text))
    if not text.startswith("{"):
        return Message(text)
    try:
        data = json_format.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("bad-message", f"this is no JSON: {error}") from None
    return Message.from_dict(data)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("no-file", f"it cannot be read: {error}", file=str(path)) from None


def _show(digest: str, decision: Decision) -> None:
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(f"{visible(decision.subject)}  (table {digest[:12]})", style="bold"))

    def add(branch: Tree, step: Step) -> None:
        line = Text.assemble((step.stage, "cyan"), ": ", visible(step.what))
        inner = branch.add(line)
        for each in step.inner:
            add(inner, each)

    for step in decision.trace:
        add(tree, step)
    console = Console(highlight=False)
    if not console.is_terminal:
        # A tree is cut at the width, which only a terminal has.
        console.width = WIDEST
    console.print(tree)
    if decision.refused is not None:
        typer.echo(f"refused: {visible(decision.refused)}")
    for delivery in decision.deliveries:
        typer.echo(visible(f"{delivery.route} -> {delivery.destination}"))
    for problem in decision.problems:
        typer.echo(visible(f"{problem.route}: no destination: {problem.reason}"))
    if not decision.deliveries and decision.refused is None:
        typer.echo("nobody gets it")
