"""How far long work on a queue is, shown on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown(name: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Gives what is called with each further part that is done.

    It is shown on the standard error stream, if that is a terminal; as a bar if the total is known.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(show_speed=True), TimeElapsedColumn())
    # What is printed meanwhile goes through the bar only if it goes to the same terminal.
    same = sys.stdout.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=same) as progress:
        task = progress.add_task(name, total=total)
        yield lambda part: progress.advance(task, part)
