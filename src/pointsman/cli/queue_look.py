"""``pointsman queue peek``, ``size`` and ``dead``: what is in a queue."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pointsman.cli.output import AsJson, show_json
from pointsman.cli.queue_open import AskedPattern, QueueFile, SubscriptionName, check_only_one, open_queue
from pointsman.cli.queue_show import MESSAGE_COLUMNS, Table, message_data, message_row, moment, write_lines

if TYPE_CHECKING:
    from pointsman.store.message import DeadLetter
    from pointsman.store.queue import Queue

PAGE = 100
"""Messages that are held in memory at a time."""
STATUSES = ("ready", "delayed", "leased", "dead", "done", "archived")
DEAD_COLUMNS = ("number", "id", "key", "subscription", "attempts", "died at", "reason", "last error")
ITSELF = "(the queue itself)"


def peek(
    file: QueueFile,
    pattern: AskedPattern = None,
    subscription: SubscriptionName = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Show up to so many.")] = 10,
    json: AsJson = False,
) -> None:
    """Show the messages that would be taken first; they stay where they are."""
    check_only_one(pattern, subscription)
    with open_queue(file) as queue:
        messages = queue.peek(pattern, subscription=subscription, count=count)
    if json:
        write_lines({**message_data(message), "attempts": message.attempts} for message in messages)
    else:
        Table(MESSAGE_COLUMNS).show(map(message_row, messages))


def size(file: QueueFile, subscription: SubscriptionName = None, json: AsJson = False) -> None:
    """Count what is in a queue, by status and by subscription."""
    from pointsman.store import inspect

    with open_queue(file) as queue:
        total = queue.size()
        each = inspect.sizes(queue.store) if subscription is None else {subscription: queue.size(subscription)[:4]}
    if json:
        show_json(
            {
                "messages": total._asdict(),
                "subscriptions": [
                    {"name": name, **dict(zip(STATUSES, counts, strict=False))} for name, counts in each.items()
                ],
            }
        )
        return
    table = Table(("", *STATUSES))
    table.show((name or ITSELF, *(f"{count:,}" for count in counts), "", "") for name, counts in each.items())
    if subscription is None:
        table.show([("all", *(f"{count:,}" for count in (getattr(total, status) for status in STATUSES)))])


def dead(
    file: QueueFile,
    subscription: SubscriptionName = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Show up to so many.")] = None,
    json: AsJson = False,
) -> None:
    """Show the dead letters: what was given up, and why."""
    from pointsman.store.message import check_number

    if limit is not None:
        check_number(limit, "--limit")
    table = Table(DEAD_COLUMNS)
    with open_queue(file) as queue:
        letters = islice(_letters(queue, subscription), limit)
        while page := list(islice(letters, PAGE)):
            if json:
                write_lines(map(_letter_data, page))
            else:
                table.show(map(_letter_row, page))
    if not json:
        table.show(())


def _letters(queue: Queue, subscription: str | None) -> Iterator[DeadLetter]:
    """All dead letters, in pages; one message may have several, which are never parted."""
    after, limit = 0, PAGE
    while True:
        page = queue.dead_letters(subscription, limit=limit, after=after)
        if len(page) < limit:
            yield from page
            return
        whole = [letter for letter in page if letter.sequence < page[-1].sequence]
        if whole:
            yield from whole
            after, limit = whole[-1].sequence, PAGE
        else:
            limit *= 10


def _letter_row(letter: DeadLetter) -> tuple[object, ...]:
    message = letter.message
    id, key = ("(lost)", "") if message is None else (message.id, message.routing_key or "")
    died_at = moment(letter.died_at, whole=True)
    name = letter.subscription or ITSELF
    return (letter.sequence, id, key, name, letter.attempts, died_at, letter.reason, letter.last_error or "")


def _letter_data(letter: DeadLetter) -> dict[str, Any]:
    message = {"number": letter.sequence} if letter.message is None else message_data(letter.message)
    return message | {
        "subscription": letter.subscription,
        "route": letter.route,
        "attempts": letter.attempts,
        "reason": letter.reason,
        "last_error": letter.last_error,
        "died_at": moment(letter.died_at),
    }
