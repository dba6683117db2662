"""``pointsman queue put``."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from pointsman.cli.queue_open import open_queue, read_duration
from pointsman.cli.queue_show import tell_duplicates, visible, write_text
from pointsman.errors import InputError, StoreError

if TYPE_CHECKING:
    from pointsman.store.message import Draft
    from pointsman.store.queue import Queue


def put(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The queue's file; made if there is none.", show_default=False)
    ],
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="The routing key.", show_default=False)] = None,
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="The data; the standard input if it is - or left out.")
    ] = None,
    priority: Annotated[int, typer.Option(min=1, max=10, help="1 is the highest, 10 the lowest.")] = 5,
    delay: Annotated[str | None, typer.Option(metavar="TIME", help="It can be taken after this: 30s, 5m, 7d.")] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="It is a dead letter after this.")] = None,
    id: Annotated[str | None, typer.Option(metavar="ID", help="Its id; put again, it is known by it.")] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Metadata; any number of times.")
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", "-d", metavar="NAME", help="The dialect of a new queue's keys; amqp if not given."),
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line of the data is a message.")] = False,
    messages: Annotated[
        Path | None,
        typer.Option("--messages", "-m", metavar="FILE", help="Messages as JSON Lines; their subjects are the keys."),
    ] = None,
) -> None:
    """Put a message, or many, and print the ids.

    An id is printed when its message is on disk. Many are put 1,000 in each transaction. Messages whose ids were put
    before are not put again, which is told on the standard error stream.
    """
    from pointsman.cli.queue_put_many import put_lines, put_messages
    from pointsman.store.message import Draft

    _check(key, data, id, metadata, lines=lines, messages=messages)
    common = Draft(
        b"", key or "", priority, read_duration(delay, "--delay"), read_duration(expires, "--expires"), id,
        _metadata(metadata),
    )  # fmt: skip
    with open_queue(file, new=True, dialect=dialect) as queue:
        if messages is not None:
            put_messages(queue, messages, common)
        elif lines:
            put_lines(queue, _input(data), common)
        else:
            _put_one(queue, data, common)


def _put_one(queue: Queue, data: str | None, draft: Draft) -> None:
    limit = queue.settings.max_bytes
    read = _input(data).read(limit + 1)
    if len(read) > limit:
        raise StoreError("too-large", f"the data is longer than {limit:,} bytes")
    given = queue.put_many([draft._replace(data=read)])
    write_text(visible(given[0]))
    tell_duplicates(given)


def _input(data: str | None) -> BinaryIO:
    """The data as it was typed, byte by byte, or the standard input."""
    if data is not None and data != "-":
        return io.BytesIO(os.fsencode(data))
    if sys.stdin is None:
        raise InputError("bad-usage", "the standard input is closed, and no data are given")
    return sys.stdin.buffer


def _check(
    key: str | None, data: str | None, id: str | None, metadata: list[str] | None, *, lines: bool, messages: Path | None
) -> None:
    """Raises ``InputError`` (``bad-usage``) for what does not go together."""
    if messages is not None:
        if key is not None or data is not None or id is not None or metadata or lines:
            problem = "the messages of a file bring their keys, data, ids and metadata: give none beside --messages"
            raise InputError("bad-usage", problem)
    elif key is None:
        raise InputError("bad-usage", "Missing argument 'KEY'.")
    elif lines and id is not None:
        raise InputError("bad-usage", "with --lines there are many messages, and --id is for one")


def _metadata(pairs: list[str] | None) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError("bad-usage", f"--metadata is {pair!r}, not KEY=VALUE")
        if name in found:
            raise InputError("bad-usage", f"--metadata gives {name!r} twice")
        found[name] = value
    return found or None
