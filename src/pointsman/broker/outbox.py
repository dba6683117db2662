"""The broker's outbox: messages published in the caller's own transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pointsman.broker.publish import Order, Published, Publisher
from pointsman.message import Message
from pointsman.store.outbox import Outbox


class BrokerOutbox:
    """Publishes messages in a transaction that somebody else commits; to be used by that thread only."""

    def __init__(self, outbox: Outbox, publisher: Publisher, make: Callable[..., Message]) -> None:
        self._outbox = outbox
        self._publisher = publisher
        self._make = make
        self.execute = outbox.execute
        """Runs a statement of the caller's in the transaction, and gives its rows."""
        self.wake = outbox.wake
        """Wakes whoever waits, after the transaction was committed; otherwise they look within a second."""

    def publish(
        self,
        subject: str | Sequence[str] | Message,
        body: Any = b"",
        *,
        metadata: Mapping[str, str] | None = None,
        id: str | None = None,
        priority: int = 5,
        delay: float | None = None,
        expires: float | None = None,
        principal: str | None = None,
        **fields: Any,
    ) -> Published:
        """Publishes a message as ``Broker.publish`` does; it is there once the transaction is committed."""
        message = self._make(subject, body, {"metadata": metadata, "id": id} | fields)
        order = Order(priority, delay, expires, principal)
        published: Published = self._outbox.within(
            lambda transaction: self._publisher.publish(transaction, message, order)
        )
        return published
