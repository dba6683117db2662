"""Messages of a queue as the commands print them: as rows of a table for people, as lines of JSON for machines."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from pointsman._util.time import format_timestamp
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.store.message import PutId, StoredMessage

WIDEST = 48
"""Characters of the data that a table shows."""
MESSAGE_COLUMNS = ("number", "id", "key", "priority", "put at", "size", "data")
NUMBERS = {"number", "priority", "size", "attempts", "ready", "delayed", "leased", "dead", "done", "archived"}
"""Columns that are aligned to the right."""


class Table:
    """Prints rows in columns that are never narrower than before, so that rows can come in pages."""

    def __init__(self, columns: Sequence[str], *, head: bool = True) -> None:
        self._right = [column in NUMBERS for column in columns]
        self._widths = [len(column) if head else 0 for column in columns]
        self._waiting = [tuple(columns)] if head else []

    def show(self, rows: Iterable[Sequence[object]]) -> None:
        """Prints rows, and before the first of them the head."""
        page = [*self._waiting, *(tuple(visible(str(cell)) for cell in row) for row in rows)]
        self._waiting = []
        for row in page:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        lines = [self._line(row) for row in page]
        if lines:
            write("".join(f"{line}\n" for line in lines).encode())

    def _line(self, row: tuple[str, ...]) -> str:
        cells = zip(row, self._widths, self._right, strict=True)
        return "  ".join(cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells).rstrip()


def message_row(message: StoredMessage) -> tuple[object, ...]:
    """A row of ``MESSAGE_COLUMNS``."""
    if not message.is_whole:
        return (message.sequence, message.id, "", message.priority or "", "", "", "(damaged)")
    body = message.body
    put_at = moment(message.put_at, whole=True)
    return (message.sequence, message.id, message.routing_key, message.priority, put_at, len(body), start_of(body))


def message_data(message: StoredMessage) -> dict[str, Any]:
    """What JSON says of a message; of one that is not what was put, only which it is."""
    if not message.is_whole:
        return {"number": message.sequence, "id": message.id, "damaged": True}
    body = message.body
    try:
        data = {"data": body.decode()}
    except UnicodeDecodeError:
        data = {"data_base64": base64.b64encode(body).decode()}
    return {
        "number": message.sequence,
        "id": message.id,
        "key": message.routing_key,
        "priority": message.priority,
        "put_at": moment(message.put_at),
        "expires_at": None if message.expires_at is None else moment(message.expires_at),
        "metadata": dict(message.metadata),
        **data,
    }


def write_lines(values: Iterable[Any]) -> None:
    """Prints each value as one line of JSON, in UTF-8 whatever the terminal is set to."""
    write("".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values).encode())


def write(data: bytes) -> None:
    """Writes bytes to the standard output as they are, and does not return before they are out.

    Raises BrokenPipeError if nobody reads them any more, and else ``InputError`` (``no-output``).
    """
    with _checked_output():
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def write_text(text: str) -> None:
    """Writes lines to the standard output, above a bar that may be shown there; raises as ``write`` does."""
    with _checked_output():
        typer.echo(text)


def tell_duplicates(ids: Sequence[PutId]) -> None:
    """Says on the standard error stream which messages were not put, as they had been before."""
    for id in ids:
        if id.duplicate:
            typer.echo(f"{visible(id)}: not put again: a message of this id was put before", err=True)


def discard_output() -> None:
    """What is written from now on, and what was not yet, goes nowhere: otherwise Python would fail as it ends."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


@contextmanager
def _checked_output() -> Iterator[None]:
    if sys.stdout is None:
        raise InputError("no-output", "the standard output is closed")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise InputError("no-output", f"the standard output cannot be written to: {error.strerror}") from None


def moment(seconds: float, *, whole: bool = False) -> str:
    """A time as RFC 3339 writes it, in UTC; to the microsecond, or cut off to ``whole`` seconds."""
    try:
        time = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        # Not a time that anybody could have put it at: the file is damaged.
        return f"{seconds:.0f} s"
    return format_timestamp(time.replace(microsecond=0) if whole else time)


def start_of(body: bytes) -> str:
    """The start of the data on one line, without anything that a terminal would obey."""
    text = visible(body[: 4 * WIDEST].decode(errors="backslashreplace"))
    return text if len(text) <= WIDEST and len(body) <= 4 * WIDEST else f"{text[: WIDEST - 1]}…"


def visible(text: str) -> str:
    """The text with what cannot be printed escaped, so that it is one line and changes no terminal."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "backslashreplace").decode() for each in text
    )
