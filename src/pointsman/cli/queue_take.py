"""``pointsman queue pop`` and ``pointsman queue ack``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from pointsman.cli.output import AsJson
from pointsman.cli.queue_open import (
    AskedPattern,
    QueueFile,
    SubscriptionName,
    check_only_one,
    open_queue,
    read_duration,
)
from pointsman.cli.queue_receipt import parse_receipt, receipt_of
from pointsman.cli.queue_show import message_data, write, write_lines

if TYPE_CHECKING:
    from pointsman.store.message import StoredMessage
    from pointsman.store.queue import Queue

PAGE = 100
"""Messages that are held in memory at a time."""


def pop(
    file: QueueFile,
    pattern: AskedPattern = None,
    subscription: SubscriptionName = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="Take up to so many.")] = 1,
    lease: Annotated[
        str | None, typer.Option(metavar="TIME", help="Keep them for so long (30s, 5m), and print receipts for ack.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Take a message and print its data; it is acknowledged once it is printed, unless --lease is given.

    Ends with 1 when there is none.
    """
    check_only_one(pattern, subscription)
    seconds = read_duration(lease, "--lease")
    taken = 0
    with open_queue(file) as queue:
        while taken < count:
            page = queue.pop_many(min(PAGE, count - taken), pattern, subscription=subscription, lease=seconds)
            if not page:
                break
            _print_or_give_back(queue, page, keep=seconds is not None, as_json=json, single=count == 1)
            taken += len(page)
            if seconds is None and (lost := len(page) - queue.ack_many(page)):
                problem = f"{lost:,} leases ran out before the messages were printed; they will come again"
                typer.echo(problem, err=True)
                return 1
    return 0 if taken else 1


def _print_or_give_back(queue: Queue, page: list[StoredMessage], *, keep: bool, as_json: bool, single: bool) -> None:
    """Prints messages; if that does not succeed, all of them can be taken again at once."""
    try:
        if as_json:
            write_lines(_data(message, keep=keep) for message in page)
            return
        for message in page:
            write(_text(message.body, single=single))
            if keep:
                typer.echo(receipt_of(message).text, err=True)
    except BaseException:
        for message in page:
            queue.nack(message, delay=0, error="it could not be printed")
        raise


def _data(message: StoredMessage, *, keep: bool) -> dict[str, object]:
    found = {**message_data(message), "attempts": message.attempts}
    return found | ({"receipt": receipt_of(message).text} if keep else {})


def _text(body: bytes, *, single: bool) -> bytes:
    """One message is printed as it is, unless a person reads it; of several, each ends its line."""
    read_by_person = sys.stdout is not None and sys.stdout.isatty()
    as_it_is = (single and not read_by_person) or body.endswith(b"\n")
    return body if as_it_is else body + b"\n"


def ack(
    file: QueueFile,
    receipt: Annotated[
        str, typer.Argument(metavar="RECEIPT", help="What pop --lease has printed.", show_default=False)
    ],
) -> int:
    """Acknowledge a message that was taken with pop --lease: it is done.

    Ends with 1 when its lease had run out, or it was acknowledged before.
    """
    lease = parse_receipt(receipt)
    with open_queue(file) as queue:
        found = queue.messages(lease.sequence - 1, 1)
        held = bool(found) and queue.ack(found[0]._replace(**lease._asdict()))
    if not held:
        typer.echo("the lease has run out, or the message was acknowledged before", err=True)
    return 0 if held else 1
