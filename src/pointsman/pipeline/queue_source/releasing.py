"""Ending a stream for good."""

from __future__ import annotations

from pathlib import Path

from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import admission
from pointsman.pipeline.queue_source.subscribed import find
from pointsman.store.queue import Queue


def release(path: str | Path, subscription: str = "") -> int:
    """Makes ready again what a stream has taken from a queue and not acknowledged, and gives how many deliveries.

    For a query that will not go on: what it had taken is otherwise kept for it without an end. The empty name is the
    queue itself. If the query goes on nevertheless, it is refused (``stream-taken``). Done in pages: one that is
    broken off can be called again. Raises ``StoreError``: ``no-subscription`` and ``store-not-opened``.
    """
    if not Path(path).exists():
        raise StoreError("store-not-opened", "there is no such file", file=str(path))
    with Queue(path) as queue:
        number = find(queue, subscription)
        if number is None:
            raise StoreError("no-subscription", f"there is no subscription {subscription!r}", file=str(path))
        return admission.give_back(queue.store, number)
