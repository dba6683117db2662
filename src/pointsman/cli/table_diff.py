"""``pointsman table diff``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointsman.cli.explain import Environment
from pointsman.cli.output import AsJson, show_json, visible
from pointsman.cli.progress import each_message
from pointsman.cli.spark import LOCAL, Format, Master, Options, doing, read_options, session
from pointsman.errors import InputError, PointsmanError

if TYPE_CHECKING:
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.diff import Change
    from pointsman.table.tools.message_diff import Comparison

COLOURS = {"gained": "green", "widened": "green", "lost": "red", "narrowed": "red"}
LARGE = 64 << 20
"""Bytes; Spark starts for a larger file, if it can."""


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="The YAML file of a routing table.", show_default=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="The one it is compared with.", show_default=False)],
    messages: Annotated[
        str | None, typer.Option("--messages", "-m", metavar="PATH", help="A file or folder of messages.")
    ] = None,
    environment: Environment = None,
    spark: Annotated[bool, typer.Option("--spark", help="Compare on Spark, whatever the size.")] = False,
    format: Format = None,
    option: Options = None,
    master: Master = LOCAL,
    json: AsJson = False,
) -> int:
    """Show what changed in meaning from routing table A to B, and for which messages of a file or folder.

    Ends with 0 when nothing changed, with 1 when something did, with 2 when a table or a message is no use.
    """
    from pointsman.table.routing_table import RoutingTable
    from pointsman.table.tools.diff import diff_tables

    before, after = RoutingTable.load(a, environment), RoutingTable.load(b, environment)
    options = read_options(option)
    changes = list(diff_tables(before, after))
    over: Comparison | None = None
    if messages is None:
        if spark or format or option:
            raise InputError("bad-usage", "--spark, --format and --option need --messages")
    elif spark or format or option or "://" in messages or _needs_spark(Path(messages)):
        over = _on_spark(before, after, messages, format, options, master)
    else:
        over = _by_size(before, after, Path(messages), master)
    if json:
        found: dict[str, Any] = {"before": before.hash, "after": after.hash}
        found["changes"] = [change.as_dict() for change in changes]
        show_json(found | ({} if over is None else {"deliveries": over.as_dict()}))
    else:
        _show(changes)
        if over is not None:
            _show_messages(over)
    return 1 if changes or (over is not None and over.differing) else 0


def _needs_spark(path: Path) -> bool:
    """Whether these messages are not JSON Lines in one file."""
    from pointsman.pipeline.formats import COMPRESSED, FORMATS

    return path.is_dir() or path.suffix in COMPRESSED or FORMATS.get(path.suffix.lower(), "json") != "json"


def _by_size(before: RoutingTable, after: RoutingTable, path: Path, master: str) -> Comparison:
    """On Spark if the file is large and Spark is there; both ways find the same."""
    if path.is_file() and path.stat().st_size > LARGE:
        try:
            return _on_spark(before, after, str(path), "json", {}, master)
        except PointsmanError as error:
            if error.code not in ("missing-extra", "no-java"):
                raise
    return _in_python(before, after, path)


def _in_python(before: RoutingTable, after: RoutingTable, path: Path) -> Comparison:
    from pointsman.table.tools.message_diff import MessageDiff

    over = MessageDiff(before, after)
    each_message(path, lambda line: over.add(line.message, line.number, line.principal))
    return over.found


def _on_spark(
    before: RoutingTable, after: RoutingTable, path: str, format: str | None, options: dict[str, str], master: str
) -> Comparison:
    from pointsman.pipeline.formats import format_of, read_archive
    from pointsman.pipeline.table_diff import diff_archive

    chosen = format or format_of(path)
    with session("pointsman diff", master) as spark, doing(f"Comparing over {path} …"):
        return diff_archive(read_archive(spark, path, chosen, options), before, after)


def _show(changes: list[Change]) -> None:
    for change in changes:
        effect = typer.style(f"{change.effect:<8}", fg=COLOURS.get(change.effect, "yellow"))
        place = f"  ({change.place})" if change.place else ""
        typer.echo(f"{effect}  {change.kind} {visible(change.name)}".rstrip() + place)
        for each in change.differences:
            typer.echo(f"            {each.field}: {_value(each.before)} -> {_value(each.after)}")
    typer.echo(f"{len(changes)} changes in meaning")


def _value(value: object) -> str:
    return "nothing" if value is None else visible(str(value))


def _show_messages(over: Comparison) -> None:
    typer.echo(f"\n{over.differing:,} of {over.messages:,} messages are delivered in another way")
    for shift in over.shifts:
        effect = typer.style(f"{shift.effect:<8}", fg=COLOURS[shift.effect])
        typer.echo(
            f"{effect}  {shift.route} -> {shift.destination}  {shift.count:,}  {', '.join(map(str, shift.examples))}"
        )
    for time, other, count, refused in (
        ("before", "lost", over.lost, over.refused_before),
        ("after", "gained", over.gained, over.refused_after),
    ):
        total = f"{over.kept + count:,} deliveries = {over.kept:,} kept + {count:,} {other}"
        typer.echo(f"{time:<8}  {total}; {refused:,} messages refused")
