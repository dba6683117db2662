"""``pointsman table diff``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointsman.cli.explain import Environment
from pointsman.cli.output import AsJson, show_json
from pointsman.cli.progress import Messages, each_message

if TYPE_CHECKING:
    from pointsman.table.changes import Change
    from pointsman.table.diff_messages import MessageDiff

COLOURS = {"gained": "green", "widened": "green", "lost": "red", "narrowed": "red"}


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="The YAML file of a routing table.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="The one it is compared with.", show_default=False)],
    messages: Messages = None,
    environment: Environment = None,
    json: AsJson = False,
) -> int:
    """Show what changed in meaning from routing table A to B, and for which messages of a file.

    Ends with 0 when nothing changed, with 1 when something did, with 2 when a table or a message is no use.
    """
    from pointsman.table.diff import diff_tables
    from pointsman.table.diff_messages import MessageDiff
    from pointsman.table.routing_table import RoutingTable

    before, after = RoutingTable.load(a, environment), RoutingTable.load(b, environment)
    changes = list(diff_tables(before, after))
    over = MessageDiff(before, after)
    if messages is not None:
        each_message(messages, lambda line: over.add(line.message, line.number))
    if json:
        found: dict[str, Any] = {"before": before.hash, "after": after.hash}
        found["changes"] = [change.as_dict() for change in changes]
        show_json(found | ({"deliveries": over.as_dict()} if messages is not None else {}))
    else:
        _show(changes)
        if messages is not None:
            _show_messages(over)
    return 1 if changes or over.differing else 0


def _show(changes: list[Change]) -> None:
    for change in changes:
        effect = typer.style(f"{change.effect:<8}", fg=COLOURS.get(change.effect, "yellow"))
        place = f"  ({change.place})" if change.place else ""
        typer.echo(f"{effect}  {change.kind} {change.name}".rstrip() + place)
        for each in change.differences:
            typer.echo(f"            {each.field}: {_value(each.before)} -> {_value(each.after)}")
    typer.echo(f"{len(changes)} changes in meaning")


def _value(value: object) -> str:
    return "nothing" if value is None else str(value)


def _show_messages(over: MessageDiff) -> None:
    typer.echo(f"\n{over.differing:,} of {over.messages:,} messages are delivered in another way")
    for shift in over.shifts:
        effect = typer.style(f"{shift.effect:<8}", fg=COLOURS[shift.effect])
        examples = ", ".join(f"{subject} (line {line})" for line, subject in shift.examples)
        typer.echo(f"{effect}  {shift.route} -> {shift.destination}  {shift.count:,}  {examples}")
