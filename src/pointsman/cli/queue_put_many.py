"""Many messages from a file or a pipe, put into a queue a thousand in each transaction."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pointsman.cli.queue_progress import shown
from pointsman.cli.queue_show import tell_duplicates, visible, write_text
from pointsman.errors import PointsmanError, StoreError
from pointsman.message import Message
from pointsman.patterns.subject import Subject
from pointsman.store.message import Draft, PutId, write_envelope
from pointsman.store.queue import Queue
from pointsman.store.transaction import Transaction
from pointsman.table.tools.messages_file import Line, read_messages

GROUP = 1000
"""Messages in a transaction at most."""
GROUP_BYTES = 16 << 20
"""Bytes in a transaction, from which on it is ended, so that memory stays bounded."""
STANDARD_INPUT = "standard input"


class Entry(NamedTuple):
    """A message to be put, and where it was read."""

    line: int
    size: int
    draft: Draft
    envelope: str | None = None


def put_lines(queue: Queue, source: BinaryIO, common: Draft) -> None:
    """Puts each line as a message and prints the ids.

    Raises ``SubjectError``, and ``StoreError`` with the line; then the messages whose ids were printed are stored, and
    no others.
    """
    Subject(str(common.routing_key), queue.store.dialect)
    _put_all(queue, STANDARD_INPUT, _length(source), _lines(source, common, queue.settings.max_bytes))


def put_messages(queue: Queue, path: Path, common: Draft) -> None:
    """Puts the messages of a file of JSON Lines and prints the ids; those without an id get one.

    Raises ``InputError`` (``no-file``), and ``MessageError``, ``SubjectError`` and ``StoreError`` with the line; then
    the messages whose ids were printed are stored, and no others.
    """
    total = path.stat().st_size if path.is_file() else None
    entries = (_entry(line, common) for line in read_messages(path))
    _put_all(queue, str(path), total, entries)


def _put_all(queue: Queue, name: str, total: int | None, entries: Iterator[Entry]) -> None:
    with shown(name, total) as advance:
        for group in _groups(entries):
            ids = queue.store.write(partial(_put_group, queue, name, group))
            write_text("\n".join(map(visible, ids)))
            tell_duplicates(ids)
            advance(sum(entry.size for entry in group))


def _put_group(queue: Queue, name: str, group: list[Entry], transaction: Transaction) -> list[PutId]:
    putter = queue.store.putter(transaction)
    ids = []
    for entry in group:
        try:
            ids.append(putter.put(entry.draft, envelope=entry.envelope))
        except PointsmanError as error:
            error.file, error.line, error.column = name, entry.line, None
            raise
    putter.finish()
    return ids


def _groups(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    group: list[Entry] = []
    size = 0
    for entry in entries:
        group.append(entry)
        size += entry.size
        if len(group) == GROUP or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _lines(source: BinaryIO, common: Draft, limit: int) -> Iterator[Entry]:
    number = 0
    while text := source.readline(limit + 1):
        number += 1
        if len(text) > limit and not text.endswith(b"\n"):
            problem = f"the line is longer than {limit:,} bytes"
            raise StoreError("too-large", problem, file=STANDARD_INPUT, line=number)
        yield Entry(number, len(text), common._replace(data=text.removesuffix(b"\n")))


def _entry(line: Line, common: Draft) -> Entry:
    message = line.message
    if message.id == f"line {line.number}":
        message = _with_own_id(message)
    draft = common._replace(
        data=message.body, routing_key=message.subject, id=message.id, metadata=message.metadata or None
    )
    return Entry(line.number, line.size, draft, write_envelope(message))


def _with_own_id(message: Message) -> Message:
    """The message with an id that no other has: the lines of two files are not the same messages."""
    new = str(uuid.uuid4())
    correlation = new if message.correlation_id == message.id else message.correlation_id
    return message.replace(id=new, correlation_id=correlation)


def _length(source: BinaryIO) -> int | None:
    """The length of a file that is read as the standard input; None for a pipe."""
    try:
        found = os.fstat(source.fileno())
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None
