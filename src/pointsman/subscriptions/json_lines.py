"""Wildcard subscriptions as JSON Lines: one in each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json.encoder import encode_basestring as quote
from typing import BinaryIO, NamedTuple

from pointsman._util import json_text
from pointsman.errors import InputError, MessageError, PointsmanError
from pointsman.subscriptions.exporting import Columns
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.reading import read_subscription
from pointsman.subscriptions.writing import needs_dialect

MAXIMUM_LINE = 16 << 20
"""The bytes of a line; a longer one is refused, so that memory stays bounded."""
MOST_OWNED = 10_000
"""Owners with their destinations whose text is kept for the next lines."""


class Entry(NamedTuple):
    """A subscription and where it was read."""

    place: int
    """The number of its line or row, from 1."""
    subscription: WildcardSubscription


def read_lines(file: BinaryIO, name: str, limits: Limits, skip: int = 0) -> Iterator[Entry]:
    """The subscriptions of a file, after the first ``skip`` lines; lines without text are passed over.

    Raises ``InputError`` (``bad-subscription``, ``bad-json``) with the file and the line.
    """
    number = 0
    while text := file.readline(MAXIMUM_LINE + 1):
        number += 1
        if (number > skip or len(text) > MAXIMUM_LINE) and text.strip():
            yield Entry(number, read_line(text, name, number, limits))


def read_line(text: bytes, name: str, number: int, limits: Limits) -> WildcardSubscription:
    """The subscription of a line. Raises as ``read_lines``."""
    if len(text) > MAXIMUM_LINE:
        problem = f"the line is longer than {MAXIMUM_LINE:,} bytes"
        raise InputError("bad-subscription", problem, file=name, line=number)
    try:
        return read_subscription(json_text.parse(text), limits)
    except MessageError as error:
        problem = error.problem.replace("line 1 ", "it ", 1)
        raise InputError("bad-json", problem, file=name, line=number, column=error.column) from None
    except PointsmanError as error:
        error.file, error.line = name, number
        raise


def write_lines(file: BinaryIO, pages: Iterable[Columns]) -> None:
    """Writes each subscription as a line, as ``write_subscription`` has it."""
    owned: dict[tuple[str, str], str] = {}
    for page in pages:
        if len(owned) > MOST_OWNED:
            owned.clear()
        file.write("".join(_lines(page, owned)).encode())


def _lines(columns: Columns, owned: dict[tuple[str, str], str]) -> Iterator[str]:
    """The lines of a page; the owner and the destinations, which many have in common, are made a text of once."""
    for id, owner, destinations, pattern, dialect, condition, enabled, expires, description in zip(
        *columns, strict=True
    ):
        second = owned.get((owner, destinations))
        if second is None:
            names = json_text.compact(json_text.parse(destinations)).decode()
            second = owned[owner, destinations] = f',"owner":{quote(owner)},"destinations":{names}'
        line = f'{{"id":{quote(id)}{second}'
        if pattern is not None:
            line += f',"pattern":{quote(pattern)}'
            if needs_dialect(pattern, dialect):
                line += f',"dialect":{quote(dialect)}'
        if condition is not None:
            line += f',"condition":{condition}'
        if not enabled:
            line += ',"enabled":false'
        if expires is not None:
            line += f',"expires":{expires!r}'
        if description:
            line += f',"description":{quote(description)}'
        yield line + "}\n"
