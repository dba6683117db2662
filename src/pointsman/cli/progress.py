"""Work through a file of messages, with a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.errors import PointsmanError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pointsman.table.tools.messages_file import Line

Messages = Annotated[
    Path | None, typer.Option("--messages", "-m", metavar="FILE", help="Messages as JSON Lines, one in each line.")
]


def each_message(path: Path, act: Callable[[Line], None]) -> int:
    """Does something with each message of a file, one at a time, and gives their number.

    What is raised about a message names the file and the line.
    """
    from pointsman.table.tools.messages_file import read_messages

    count = 0
    for line in _shown(path, read_messages(path, received=True)):
        try:
            act(line)
        except PointsmanError as error:
            error.file, error.line, error.column = str(path), line.number, None
            raise
        count += 1
    return count


def _shown(path: Path, lines: Iterator[Line]) -> Iterator[Line]:
    """The lines; how far they are is shown on the standard error stream, if that is a terminal."""
    if not sys.stderr.isatty():
        yield from lines
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(path.name, total=path.stat().st_size if path.is_file() else None)
        for line in lines:
            yield line
            progress.advance(task, line.size)
