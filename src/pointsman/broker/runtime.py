"""What a broker consists of while it is open, in the order in which it is opened and closed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from pointsman.broker.committer import Committer
from pointsman.broker.deliver import Consumer
from pointsman.broker.dispatch import Dispatcher
from pointsman.broker.handlers import Registration
from pointsman.broker.iterator import BrokerSubscription, Close
from pointsman.broker.outcomes import Outcomes
from pointsman.broker.publish import INBOX, Publisher
from pointsman.broker.replies import Inbox, abandoned, name_of
from pointsman.broker.sinks import Sinks
from pointsman.broker.timers import expire
from pointsman.errors import StoreError
from pointsman.store import subscription_changes
from pointsman.store.queue import Queue
from pointsman.store.transaction import Transaction
from pointsman.store.wakeup import LONGEST
from pointsman.table.routing_table import RoutingTable


class Runtime:
    """An open broker; belongs to one event loop."""

    def __init__(self, queue: Queue, table: RoutingTable, patience: Callable[[], float]) -> None:
        self.queue = queue
        self.table = table
        # A message is stored under whatever subject the table takes.
        queue.store.keys.also = table.dialects
        self.publisher = Publisher(queue.store, table, queue.settings.random)
        self.committer = Committer(queue.store)
        outcomes = Outcomes(queue.store, table, self.publisher)
        self.dispatcher = Dispatcher(queue.store, outcomes, self.committer, self._expire, lambda: self._tick())
        self._patience = patience
        """Measures how long replies are waited for."""
        self._inbox: asyncio.Task[Inbox] | None = None
        self._tick: Callable[[], float] = lambda: LONGEST
        self._subscriptions: set[BrokerSubscription] = set()

    async def open(self, sinks: Sinks, registrations: list[Registration], grace: float) -> None:
        """Opens the destinations and begins to deliver. What it raises leaves nothing open, the queue apart."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.publisher.close)
            stack.push_async_callback(self.committer.close)
            stack.push_async_callback(self._drop_inbox)
            stack.push_async_callback(sinks.close)
            await sinks.open()
            await self._drop_abandoned()
            for registration in [*registrations, *sinks.registrations]:
                self.dispatcher.add(await self.committer.run(self._prepare(registration)))
            self.dispatcher.start()
            stack.push_async_callback(self.dispatcher.stop, grace)
            stack.push_async_callback(self._close_subscriptions)
            self._life = stack.pop_all()

    async def close(self) -> None:
        """Takes no more, finishes or gives back what is in flight, and closes all but the queue."""
        await self._life.aclose()

    def add(self, registration: Registration) -> None:
        """A handler takes deliveries from now on; waits for the disk."""
        self.dispatcher.add(self.queue.store.write(self._prepare(registration)))

    def begin(self, subscription: BrokerSubscription, registration: Registration, *, durable: bool) -> None:
        """Begins a subscription; it is stored before anything that is published after this call."""
        storing = self.committer.submit(self._prepare(registration))
        self._subscriptions.add(subscription)
        subscription.opening = asyncio.create_task(self._begin(subscription, storing, durable=durable))

    async def inbox(self) -> Inbox:
        """The inbox, made when it is first needed."""
        if self._inbox is None or (self._inbox.done() and self._inbox.exception() is not None):
            self._inbox = asyncio.create_task(self._make_inbox())
        # One that is cancelled must not keep the others from having it.
        return await asyncio.shield(self._inbox)

    def name_of(self, kind: str) -> str:
        """A new name for a subscription that ends with this broker."""
        return name_of(kind, self.dispatcher.listener)

    def _prepare(self, registration: Registration) -> Callable[[Transaction], Consumer]:
        return registration.prepare(self.queue.store, self.table, self.publisher)

    async def _begin(
        self, subscription: BrokerSubscription, storing: asyncio.Future[Consumer], *, durable: bool
    ) -> Close:
        try:
            consumer = await storing
        except BaseException:
            self._subscriptions.discard(subscription)
            raise
        self.dispatcher.add(consumer)

        async def close() -> None:
            self._subscriptions.discard(subscription)
            await self.dispatcher.remove(consumer)
            if not durable:
                await asyncio.to_thread(self.queue.unsubscribe, consumer.name)

        return close

    async def _close_subscriptions(self) -> None:
        await asyncio.gather(*(each.aclose() for each in list(self._subscriptions)), return_exceptions=True)

    async def _make_inbox(self) -> Inbox:
        inbox = Inbox(self.name_of(INBOX), self._patience, self.dispatcher.wake)
        store = self.queue.store
        self.dispatcher.add(await self.committer.run(lambda transaction: inbox.consumer(store, transaction)))
        self._tick = inbox.tick
        return inbox

    async def _drop_inbox(self) -> None:
        if self._inbox is not None:
            with contextlib.suppress(StoreError):
                inbox = await self._inbox
                await asyncio.to_thread(self.queue.unsubscribe, inbox.name)

    async def _drop_abandoned(self) -> None:
        store = self.queue.store
        for name in await self.committer.run(lambda transaction: abandoned(store, transaction)):
            # Another process may have dropped it meanwhile.
            with contextlib.suppress(StoreError):
                await asyncio.to_thread(subscription_changes.unsubscribe, store, name)

    def _expire(self, transaction: Transaction) -> None:
        expire(transaction, self.queue.store, self.table, self.publisher)
        self.queue.store.retention.step(transaction)
