"""Files of messages: JSON Lines, one message in each line."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pointsman._util import json_text
from pointsman.errors import InputError, MessageError
from pointsman.message import Message

MAXIMUM_LINE = 16 << 20
"""The bytes of a line; a longer one is refused, so that memory stays bounded."""
TOO_LONG = f"the line is longer than {MAXIMUM_LINE} bytes"
PRINCIPAL, POSITION = "principal", "position"
LARGEST_POSITION = (1 << 63) - 1
LINE_BITS = 40
"""Of a place in several files: the line; the bits above are the number of the file."""
WHITE_SPACE = " \t\n\r\x0b\f"
"""A line of nothing else is passed over."""
UNNAMED = "-"
NO_NAMES: Mapping[str, str] = MappingProxyType({})


class Line(NamedTuple):
    """A message and where it was read."""

    number: int
    size: int
    """In bytes."""
    message: Message
    principal: str | None = None
    """Who published it, if the line says so."""


class Received(NamedTuple):
    """A message as a line has it, and what the line says of it besides."""

    message: Message
    has_id: bool
    """Whether the id is more than a placeholder."""
    principal: str | None
    """Who published it."""
    position: int | None
    """Its place in the order of all messages."""


def read_messages(path: Path, *, received: bool = False, new: bool = False) -> Iterator[Line]:
    """The messages of a file, one after the other; lines without text are passed over.

    A line holds an object as ``Message.from_dict`` reads it; only ``subject`` must be there. Without an ``id`` it is
    called after its line, and without a ``time`` it has none, so that the same file gives the same messages; with
    ``new`` it gets an id of its own and the present time instead. With ``received`` it may have what ``read_received``
    allows besides. Raises ``MessageError`` (``bad-json``,
    ``bad-message``) with the file and the line, and ``InputError`` when the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while text := file.readline(MAXIMUM_LINE + 1):
                number += 1
                if len(text) > MAXIMUM_LINE:
                    raise MessageError("bad-message", TOO_LONG, file=str(path), line=number)
                if text.strip():
                    yield _line(text, path, number, received=received, new=new)
    except OSError as error:
        raise InputError("no-file", f"it cannot be read: {error.strerror}", file=str(path)) from None


def read_line(text: bytes, name: str) -> Message:
    """The message of a line, with this id if it has none. Raises ``MessageError`` (``bad-json``, ``bad-message``)."""
    return _message(_parsed(text), name)


def read_received(
    text: bytes,
    name: str | None,
    others: frozenset[str] = frozenset(),
    names: Mapping[str, str] = NO_NAMES,
    time: datetime | None = None,
) -> Received:
    """The message of a line that may also have a ``principal`` (text), a ``position`` (a whole number) and ``others``.

    Without a ``name`` for a message that has no id, it has none, and no correlation id unless the line has one.
    ``names`` are the fields of a message by the keys that lines have for them, where these are others. ``time`` is that
    of a message that has none. Raises ``MessageError`` (``bad-json``, ``bad-message``).
    """
    data = _parsed(text)
    if not isinstance(data, dict):
        raise MessageError("bad-message", f"a message is an object, not {type(data).__name__}")
    for key, field in names.items():
        if key in data:
            if field in data:
                raise MessageError("bad-message", f"there are both {key!r} and {field!r}")
            data[field] = data.pop(key)
    principal, position = data.pop(PRINCIPAL, None), data.pop(POSITION, None)
    for key in others & data.keys():
        del data[key]
    has_id = "id" in data or name is not None
    has_time = "time" in data
    message = _message(data if has_id else {"correlation_id": None} | data, name or UNNAMED)
    if time is not None and not has_time:
        message = message.replace(time=time)
    if principal is not None and not _is_text(principal):
        raise MessageError("bad-message", f"principal is no text that UTF-8 can write, but {str(principal)[:30]!a}")
    if position is not None and (type(position) is not int or abs(position) > LARGEST_POSITION):
        raise MessageError("bad-message", f"position is {str(position)[:30]}, not a whole number of 64 bits")
    return Received(message, has_id, principal, position)


def _is_text(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _parsed(text: bytes) -> Any:
    try:
        return json_text.parse(text)
    except MessageError as error:
        # The reader of JSON counts lines within the text, which is one line here.
        problem = error.problem.removeprefix("line 1 is ")
        raise MessageError(error.code, problem, column=error.column) from None


def _message(data: Any, name: str) -> Message:
    return Message.from_dict({"id": name, "time": None} | data if isinstance(data, dict) else data)


def _line(text: bytes, path: Path, number: int, *, received: bool, new: bool) -> Line:
    name = str(uuid.uuid4()) if new else f"line {number}"
    time = datetime.now(UTC) if new else None
    try:
        if not received:
            return Line(number, len(text), read_line(text, name))
        found = read_received(text, name, time=time)
    except MessageError as error:
        error.file, error.line = str(path), number
        raise
    return Line(number, len(text), found.message, found.principal)
