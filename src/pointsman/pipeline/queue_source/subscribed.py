"""The subscription that is read."""

from __future__ import annotations

from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import statements
from pointsman.pipeline.queue_source.options import Options
from pointsman.pipeline.queue_source.standing import standing_of
from pointsman.store.queue import Queue
from pointsman.store.subscriptions import MAIN


def number_of(queue: Queue, options: Options, *, make: bool = False) -> int:
    """The number of the subscription that the options name; that of the queue itself if they name none.

    With ``make``, one that does not exist is made, with the pattern of the options or for everything, and gets what is
    stored already from the message ``start`` on. Raises ``StoreError``: ``no-subscription`` and
    ``subscription-differs``, and ``PatternError``.
    """
    if not options.subscription:
        return MAIN
    found = find(queue, options.subscription)
    if not make:
        if found is None:
            raise StoreError("no-subscription", f"there is no subscription {options.subscription!r}")
        return found
    if found is None or options.pattern is not None:
        pattern = queue.store.dialect.many if options.pattern is None else options.pattern
        found = queue.subscribe(options.subscription, pattern).id
    if options.start is not None and standing_of(queue.store, found) is None:
        # Again if it was broken off: what is there already does not come twice.
        queue.replay(options.start, subscription=options.subscription)
    return found


def find(queue: Queue, name: str) -> int | None:
    """The number of a subscription; None if there is none of this name."""
    with queue.store.read() as connection:
        row = next(iter(connection.execute(statements.SUBSCRIPTION, (name,))), None)
    return None if row is None else int(row[0])
