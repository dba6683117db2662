"""What the commands print, in one way."""

from __future__ import annotations

import json
from typing import Annotated, Any, TextIO

import typer

from pointsman.errors import PointsmanError, TableError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
DialectName = Annotated[
    str | None,
    typer.Option("--dialect", "-d", metavar="NAME", help="The dialect: nats (the default), amqp, zato or mqtt."),
]


def show_json(value: Any) -> None:
    """Prints a value as JSON."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def show_error(error: PointsmanError, *, as_json: bool, file: TextIO | None = None) -> None:
    """Prints an error to the standard error stream, or this one: its code, what is wrong, where, and what to do."""
    if as_json:
        each = error.failures if isinstance(error, TableError) else ()
        more = {"errors": [failure.as_dict() for failure in each]} if each else {}
        typer.echo(json.dumps({"error": error.as_dict(), **more}, ensure_ascii=False), file=file, err=True)
        return
    if isinstance(error, TableError):
        for failure in error.failures:
            show_error(failure, as_json=False, file=file)
        return
    place = f"{error.place}: " if error.file else ""
    problem = visible(error.problem)
    typer.echo(f"{place}{typer.style('error', fg='red', bold=True)}[{error.code}]: {problem}", file=file, err=True)
    if error.text is not None and error.file is None:
        _show_text(error.text, error.column, file)
    typer.echo(f"  help: {error.help}", file=file, err=True)


def _show_text(text: str, column: int | None, file: TextIO | None) -> None:
    """The text with a mark under the place; what a terminal cannot show is escaped, and a long text is cut."""
    widest = 100
    start = 0 if column is None or column <= widest else column - widest // 2
    shown = [visible(character) for character in text[start : start + widest]]
    typer.echo(f"    {''.join(shown)}", file=file, err=True)
    if column is not None:
        typer.echo(" " * (4 + sum(map(len, shown[: column - 1 - start]))) + "^", file=file, err=True)


def visible(text: str) -> str:
    """The text with what cannot be printed escaped, so that it is one line and changes no terminal."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode() for each in text
    )
