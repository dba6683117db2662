"""Requests: a message is published, and what comes back to its inbox is given to whoever asked."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from pointsman.broker.deliver import Consumer, Received
from pointsman.broker.publish import INBOX, TEMPORARY, Published
from pointsman.errors import RoutingError
from pointsman.message import Message
from pointsman.store.store import Store
from pointsman.store.subscriptions import add_subscription
from pointsman.store.transaction import SECOND, Transaction
from pointsman.store.wakeup import LONGEST

Publish = Callable[[], Awaitable[Published]]
AT_ONCE = 100
"""Replies that are taken at a time."""


class Inbox:
    """Where the replies to one broker of one process go.

    ``clock`` measures how long they are waited for; ``wake`` is called for ``tick`` to be asked anew.
    """

    def __init__(self, name: str, clock: Callable[[], float], wake: Callable[[], None]) -> None:
        self._wake = wake
        self.name = name
        self._clock = clock
        self._waiting: dict[str, tuple[float, asyncio.Future[Message]]] = {}

    async def ask(self, message: Message, publish: Publish, timeout: float) -> Message:
        """Publishes the message and gives the first reply.

        Raises ``TimeoutError``, ``RoutingError`` (``no-responders``) when nobody gets it, and what publishing does.
        """
        reply = self.expect(message.correlation_id or message.id, timeout)
        try:
            published = await publish()
            if not published.deliveries and not published.duplicate:
                raise RoutingError("no-responders", f"nobody takes requests to {published.subject!r}")
            self._wake()
            return await reply
        finally:
            reply.cancel()

    def expect(self, correlation_id: str, timeout: float) -> asyncio.Future[Message]:
        """What the reply to this correlation id will be; fails with ``TimeoutError`` once ``tick`` sees it is late."""
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        waiting = (self._clock() + timeout, future)
        self._waiting[correlation_id] = waiting

        def forget(_: asyncio.Future[Message]) -> None:
            if self._waiting.get(correlation_id) is waiting:
                del self._waiting[correlation_id]

        future.add_done_callback(forget)
        return future

    def tick(self) -> float:
        """Ends the waits that are over, and gives how long it is until the next one is."""
        now = self._clock()
        for correlation_id, (deadline, future) in list(self._waiting.items()):
            if deadline <= now and not future.done():
                future.set_exception(TimeoutError(f"there was no reply to {correlation_id!r} in time"))
        return min(
            (deadline - now for deadline, future in self._waiting.values() if not future.done()), default=LONGEST
        )

    async def act(self, received: Received) -> None:
        """A reply has come; one that nobody waits for any more is dropped."""
        _, future = self._waiting.get(received.message.correlation_id or "", (0.0, None))
        if future is not None and not future.done():
            future.set_result(received.message)

    def consumer(self, store: Store, transaction: Transaction) -> Consumer:
        """Who takes the replies; the subscription is stored."""
        number = add_subscription(transaction, self.name, None, store.dialect.name)
        lease = int(store.settings.lease * SECOND)
        return Consumer(number, self.name, self.act, concurrency=AT_ONCE, lease=lease)


def name_of(kind: str, listener: str) -> str:
    """A name that begins with its kind, and by which can be found whether its broker is gone."""
    return f"{kind}{listener}-{secrets.token_hex(16)}"


def abandoned(store: Store, transaction: Transaction) -> list[str]:
    """The inboxes and temporary subscriptions of brokers that are gone."""
    store.subscriptions.refresh(transaction)
    names = [name for name in store.subscriptions.by_name if name.startswith((INBOX, TEMPORARY))]
    return [name for name in names if not store.bell.hears(name.partition(":")[2].rpartition("-")[0])]
