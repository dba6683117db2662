"""What the commands about queues have in common: the file they open, and how their arguments are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman._util.time import parse_duration
from pointsman.errors import InputError, PointsmanError

if TYPE_CHECKING:
    from pointsman.store.queue import Queue

QueueFile = Annotated[Path, typer.Argument(metavar="FILE", help="The queue's file.", show_default=False)]
AskedPattern = Annotated[
    str | None, typer.Argument(metavar="PATTERN", help="Only messages whose keys match.", show_default=False)
]
SubscriptionName = Annotated[
    str | None, typer.Option("--subscription", "-s", metavar="NAME", help="What this durable subscription has.")
]


def open_queue(path: Path, *, new: bool = False, dialect: str | None = None) -> Queue:
    """The queue of a file, open; ``new`` makes the file if there is none.

    Raises ``InputError`` (``no-file``) and ``StoreError``; a file that was not there is then not made.
    """
    from pointsman.store.queue import Queue

    if not new and not path.exists():
        raise InputError("no-file", "there is no such file, and only put and import make one", file=str(path))
    try:
        # Absolute, so that no name is taken for SQLite's :memory:.
        return Queue(path.absolute(), dialect=dialect)
    except OSError as error:
        if isinstance(error, PointsmanError):
            raise
        raise InputError("no-file", f"it cannot be opened: {error.strerror}", file=str(path)) from None


def read_duration(text: str | None, option: str) -> float | None:
    """The seconds that an option says, with a unit or without. Raises ``InputError`` (``bad-usage``)."""
    if text is None:
        return None
    try:
        return parse_duration(text if text[-1:].isalpha() else f"{text}s")
    except ValueError as error:
        raise InputError("bad-usage", f"{option} is {text!r}: {error}") from None


def check_only_one(pattern: str | None, subscription: str | None) -> None:
    """Raises ``InputError`` (``bad-usage``) if both are given: a subscription has a pattern already."""
    if pattern is not None and subscription is not None:
        raise InputError("bad-usage", "give a pattern or a subscription, which has one of its own, not both")
