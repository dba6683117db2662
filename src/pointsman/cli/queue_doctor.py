"""``pointsman queue doctor``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson, show_json

if TYPE_CHECKING:
    from pointsman.store.doctor.finding import Action, Diagnosis, Finding

COLORS = {"lost": "red", "error": "red", "warning": "yellow", "note": "cyan"}


WIDE = 160
"""Columns of the table where there is no terminal."""


def doctor(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The queue's file.")],
    repair: Annotated[
        bool, typer.Option("--repair", help="Put right what can be; damaged messages are set aside, never deleted.")
    ] = False,
    json: AsJson = False,
) -> int:
    """Look for damage in a queue's file that SQLite's own check misses, and explain it.

    Without --repair nothing is changed, and other processes may use the queue. Ends with 0 for a healthy file, with 1
    if something is wrong with it, and with 2 if it cannot be read at all; with --repair, what is left then counts.
    """
    from pointsman.store.doctor.diagnosing import diagnose
    from pointsman.store.doctor.repairing import repair as run

    with _shown(file.name) as progress:
        found = diagnose(file, progress=progress)
        actions = run(file, found, progress=progress) if repair else []
        left = _after(file, actions) if actions else found
    if json:
        after = {"actions": [action.as_dict() for action in actions], "after": left.as_dict()} if repair else {}
        show_json(found.as_dict() | after)
    else:
        _show(found, actions, left)
    if not left.readable:
        return 2
    return 0 if left.healthy else 1


def _after(file: Path, actions: list[Action]) -> Diagnosis:
    """What is left: in the file that was salvaged, if one was, or else in the file itself."""
    from pointsman.store.doctor.diagnosing import diagnose

    salvaged = [action.file for action in actions if action.file is not None and action.is_salvage]
    return diagnose(Path(salvaged[0]) if salvaged else file)


@contextmanager
def _shown(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """Shows how far the check is on the standard error stream, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(found: Diagnosis, actions: list[Action], left: Diagnosis) -> None:
    counts = ", ".join(f"{count:,} {name}" for name, count in found.counts.items())
    typer.echo(f"{found.path}: {counts or 'cannot be read'}")
    if found.findings:
        _show_table(found)
    for finding in found.findings:
        _explain(finding)
    if found.healthy:
        typer.echo(typer.style("healthy", fg="green"))
    for action in actions:
        typer.echo(f"{typer.style('done', fg='green')}  {action.code}: {action.done} ({action.count:,})")
    if actions:
        state = typer.style("healthy", fg="green") if left.healthy else typer.style("not healthy", fg="red")
        typer.echo(f"{left.path} is now {state}")


def _show_table(found: Diagnosis) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("severity", "code", "how many", "what is wrong"):
        table.add_column(name, justify="right" if name == "how many" else "left")
    for finding in found.findings:
        color = COLORS[finding.severity.value]
        table.add_row(
            f"[{color}]{finding.severity.value}[/]", finding.code, f"{finding.count:,}", finding.wrong
        )  # fmt: skip
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


def _explain(finding: Finding) -> None:
    typer.echo(f"\n{typer.style(finding.code, bold=True)}{': ' + finding.detail if finding.detail else ''}")
    typer.echo(f"  it means  {finding.means}")
    typer.echo(f"  --repair  {finding.repair}")
    for sample in finding.samples:
        parts = (
            None if sample.number is None else f"message {sample.number:,}",
            None if sample.id is None else f"id {sample.id}",
            None if sample.key is None else f"key {sample.key!r}",
            sample.about or None,
        )
        typer.echo(f"  e.g.      {_visible(', '.join(filter(None, parts)))}")


def _visible(text: str) -> str:
    """The text with what a terminal would obey escaped."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
