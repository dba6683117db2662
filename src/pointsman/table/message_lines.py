"""Files of messages: JSON Lines, one message in each line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pointsman.errors import InputError, MessageError
from pointsman.message import Message
from pointsman.text import json_text

MAXIMUM_LINE = 16 << 20
"""The bytes of a line; a longer one is refused, so that memory stays bounded."""


class Line(NamedTuple):
    """A message and where it was read."""

    number: int
    size: int
    """In bytes."""
    message: Message


def read_messages(path: Path) -> Iterator[Line]:
    """The messages of a file, one after the other; lines without text are passed over.

    A line holds an object as ``Message.from_dict`` reads it; only ``subject`` must be there. Without an ``id`` it is
    called after its line, and without a ``time`` it has none, so that the same file gives the same messages. Raises
    ``MessageError`` (``bad-json``, ``bad-message``) with the file and the line, and ``InputError`` when the file cannot
    be read.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while text := file.readline(MAXIMUM_LINE + 1):
                number += 1
                if len(text) > MAXIMUM_LINE:
                    problem = f"the line is longer than {MAXIMUM_LINE} bytes"
                    raise MessageError("bad-message", problem, file=str(path), line=number)
                if text.strip():
                    yield Line(number, len(text), _message(text, path, number))
    except OSError as error:
        raise InputError("no-file", f"it cannot be read: {error.strerror}", file=str(path)) from None


def read_line(text: bytes, name: str) -> Message:
    """The message of a line, with this id if it has none. Raises ``MessageError`` (``bad-json``, ``bad-message``)."""
    try:
        data = json_text.parse(text)
        return Message.from_dict({"id": name, "time": None} | data if isinstance(data, dict) else data)
    except MessageError as error:
        # The reader of JSON counts lines within the text, which is one line here.
        problem = error.problem.removeprefix("line 1 is ")
        raise MessageError(error.code, problem, column=error.column) from None


def _message(text: bytes, path: Path, number: int) -> Message:
    try:
        return read_line(text, f"line {number}")
    except MessageError as error:
        error.file, error.line = str(path), number
        raise
