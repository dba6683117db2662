"""Messages as they come, one after the other, without asking again and again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from pointsman.errors import StoreError
from pointsman.store import lookup
from pointsman.store.bell import Listener
from pointsman.store.popping import Asked
from pointsman.store.stored import StoredMessage

if TYPE_CHECKING:
    from pointsman.store.queue import Queue


def consume(
    queue: Queue, pattern: Asked, subscription: str | None, lease: float | None, wait: float | None
) -> Iterator[StoredMessage]:
    """As ``Queue.consume``."""
    process = os.getpid()
    with queue.store.guarded():
        listener = queue.store.bell.listen()
    try:
        message = None
        while True:
            message = _next(queue, listener, message, pattern, subscription, lease, wait)
            if message is None:
                return
            try:
                yield message
            except GeneratorExit:
                # A process that was forked here leaves it to its parent; a queue that is closed, to the lease.
                if os.getpid() == process:
                    with suppress(StoreError):
                        queue.nack(message, delay=0)
                raise
    finally:
        with queue.store.guarded():
            listener.close()


def _next(
    queue: Queue,
    listener: Listener,
    message: StoredMessage | None,
    pattern: Asked,
    subscription: str | None,
    lease: float | None,
    wait: float | None,
) -> StoredMessage | None:
    if message is None:
        following = queue.pop(pattern, subscription=subscription, lease=lease)
    else:
        following = queue.ack_and_pop(message, pattern, subscription=subscription, lease=lease)
    end = None if wait is None else time.monotonic() + wait
    while following is None:
        left = 60.0 if end is None else end - time.monotonic()
        if left <= 0:
            return None
        listener.wait(min(left, lookup.until_due(queue.store)))
        following = queue.pop(pattern, subscription=subscription, lease=lease)
    return following
