"""``pointsman queue tail``."""

from __future__ import annotations

import select
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson
from pointsman.cli.queue_open import AskedPattern, QueueFile, open_queue
from pointsman.cli.queue_show import MESSAGE_COLUMNS, Table, discard_output, message_data, message_row, write_lines

if TYPE_CHECKING:
    from pointsman.patterns.pattern import Pattern
    from pointsman.store.message import StoredMessage
    from pointsman.store.queue import Queue
    from pointsman.store.wakeup import Listener

PAGE = 100
"""Messages that are held in memory at a time."""
LAST = 10
"""How many are shown if nothing is said."""
WAIT = 1.0
"""Seconds after which a reader that is gone is noticed."""


def tail(
    file: QueueFile,
    pattern: AskedPattern = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for messages that are put from now on.")] = False,
    start: Annotated[
        int | None, typer.Option("--from", min=1, metavar="NUMBER", help="Begin with the message of this number.")
    ] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, metavar="N", help="End after so many.")] = None,
    json: AsJson = False,
) -> None:
    """Show messages in the order of putting, whatever became of them; none is taken.

    The last 10, or --count; with --from, all from there on; with --follow, those that are put from now on.
    """
    from pointsman.patterns.dialect import check_wildcards
    from pointsman.patterns.pattern import Pattern
    from pointsman.store.message import check_number

    for name, number in (("--count", count), ("--from", start)):
        if number is not None:
            check_number(number, name)
    table = Table(MESSAGE_COLUMNS, head=False)
    with open_queue(file) as queue, _until_nobody_reads():
        asked = None if pattern is None else Pattern(pattern, queue.store.dialect)
        if pattern is not None:
            check_wildcards(pattern, queue.store.dialect, chosen=False)
        for page in _pages(queue, asked, start, count, follow=follow):
            if json:
                write_lines(map(message_data, page))
            else:
                table.show(map(message_row, page))


def _pages(
    queue: Queue, pattern: Pattern | None, start: int | None, count: int | None, *, follow: bool
) -> Iterator[list[StoredMessage]]:
    """What is to be shown, as soon as it is known."""
    if follow:
        pages = _followed(queue, pattern, start)
    elif start is not None:
        pages = _stored(queue, pattern, start - 1)
    else:
        pages = iter([_last(queue, pattern, count or LAST)])
    left = count
    for page in pages:
        yield page[:left]
        if left is not None:
            left -= len(page)
            if left <= 0:
                return


def _stored(queue: Queue, pattern: Pattern | None, after: int) -> Iterator[list[StoredMessage]]:
    """The messages after a number that are there now."""
    from pointsman.store import inspect

    last = inspect.last_number(queue.store)
    while after < last and (page := queue.messages(after, PAGE)):
        after = page[-1].sequence
        yield [message for message in page if message.sequence <= last and _matches(pattern, message)]


def _followed(queue: Queue, pattern: Pattern | None, start: int | None) -> Iterator[list[StoredMessage]]:
    """The messages from a number on, or from now on, as they are put; ends when nobody reads any more."""
    from pointsman.store import inspect

    with _listening(queue) as listener:
        after = inspect.last_number(queue.store) if start is None else start - 1
        while True:
            while page := queue.messages(after, PAGE):
                after = page[-1].sequence
                yield [message for message in page if _matches(pattern, message)]
            listener.wait(WAIT)
            if _is_closed():
                return


def _last(queue: Queue, pattern: Pattern | None, count: int) -> list[StoredMessage]:
    """The last messages, found by going further and further back."""
    from pointsman.store import inspect

    last, width = inspect.last_number(queue.store), count
    while True:
        after = max(last - width, 0)
        found = deque(_each(_stored(queue, pattern, after)), maxlen=count)
        if len(found) == count or not after:
            return list(found)
        width *= 4


def _each(pages: Iterable[list[StoredMessage]]) -> Iterator[StoredMessage]:
    for page in pages:
        yield from page


def _matches(pattern: Pattern | None, message: StoredMessage) -> bool:
    """Whether it is asked for; of one whose key is lost, that is not known."""
    from pointsman.store import inspect

    return pattern is None or (not message.is_missing and inspect.matches(pattern, message.routing_key))


@contextmanager
def _listening(queue: Queue) -> Iterator[Listener]:
    with queue.store.guarded():
        listener = queue.store.bell.listen()
    try:
        yield listener
    finally:
        with queue.store.guarded():
            listener.close()


@contextmanager
def _until_nobody_reads() -> Iterator[None]:
    """A pipe whose reader has gone is no error: it has what it wanted."""
    try:
        yield
    except BrokenPipeError:
        discard_output()


def _is_closed() -> bool:
    """Whether the standard output is a pipe that nobody reads."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
