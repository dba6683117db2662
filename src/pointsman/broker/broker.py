"""The embedded broker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from pointsman.broker.committer import Committer
from pointsman.broker.consumer import Consumer, Handler, as_act
from pointsman.broker.dispatching import Dispatcher
from pointsman.broker.identity import new_id
from pointsman.broker.outbox import BrokerOutbox
from pointsman.broker.outcomes import Outcomes
from pointsman.broker.publishing import REPLY_TO, Order, Published, Publisher
from pointsman.broker.registration import Registration, Registrations
from pointsman.broker.requesting import Inbox, abandoned
from pointsman.broker.sinks import Sinks
from pointsman.broker.subscription import BrokerSubscription
from pointsman.broker.timers import expire
from pointsman.errors import StoreError
from pointsman.message import Message
from pointsman.store import upkeep
from pointsman.store.queue import Queue
from pointsman.store.stored import Sizes
from pointsman.store.transaction import Transaction
from pointsman.table.routing_table import RoutingTable

LOG = logging.getLogger("pointsman.broker")
Body = bytes | str | Mapping[str, Any] | Sequence[Any]
Ack = Literal["auto", "manual"]


class Broker:
    """A routing table that runs: messages are published, decided about, kept on disk and delivered.

    >>> async def main():
    ...     async with Broker(":memory:") as broker:
    ...         async with broker.subscribe("orders.#") as orders:
    ...             await broker.publish("orders.new", b"two laptops")
    ...             async for message in orders:
    ...                 return message.body
    >>> asyncio.run(main())
    b'two laptops'

    Everything that a message changes is written in one transaction: its deliveries, the state of sagas, gatherers,
    breakers and balances, and the commands that follow. ``publish`` returns when that is on disk. Deliveries are made
    at least once, by whichever process on the file has a handler for them.

    ``table`` is a ``RoutingTable``, or the path of one, for ``environment``; without one there are subscriptions only,
    in the dialect ``amqp``. Relative paths in destinations are relative to the ``folder``, by default that of the file.
    Other settings are those of ``QueueSettings``. Belongs to one event loop; ``publish`` of several tasks at a time
    share one sync of the disk.
    """

    def __init__(
        self,
        path: str | Path,
        table: RoutingTable | str | Path | None = None,
        *,
        environment: str | None = None,
        folder: str | Path | None = None,
        grace: float = 30.0,
        **settings: Any,
    ) -> None:
        self.table = _table(table, environment)
        self._path = path
        self._folder = Path(folder) if folder is not None else Path(path).parent
        self._grace = grace
        self._settings = {"dialect": self.table.dialect.name, "main": "never"} | settings
        self._registrations = Registrations()
        self._queue: Queue | None = None
        self._inbox: Inbox | None = None

    # -- life

    async def __aenter__(self) -> Broker:
        queue = await asyncio.to_thread(Queue, self._path, **self._settings)
        self._queue = queue
        try:
            self._publisher = Publisher(queue.store, self.table, queue.settings.random)
            self._outcomes = Outcomes(queue.store, self.table, self._publisher)
            self._committer = Committer(queue.store)
            self._dispatcher = Dispatcher(queue.store, self._outcomes, self._committer, self._expire)
            self._sinks = Sinks(self.table, self._folder, self.publish)
            await self._sinks.open()
            await self._drop_abandoned()
            for registration in [*self._registrations.all, *self._sinks.registrations]:
                await self._start(registration)
            self._dispatcher.start()
        except BaseException:
            queue.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes no more, finishes or gives back what is in flight, and closes the file."""
        await self._dispatcher.stop(self._grace)
        await self._sinks.close()
        if self._inbox is not None:
            await asyncio.to_thread(self.queue.unsubscribe, self._inbox.name)
        self._committer.close()
        self.queue.close()

    @property
    def queue(self) -> Queue:
        """The queue that the broker is on: for its sizes, dead letters, upkeep. Raises ``StoreError`` unless open."""
        if self._queue is None:
            raise StoreError("store-closed", "the broker is not open: use it with 'async with'")
        return self._queue

    def sizes(self) -> dict[str, Sizes]:
        """What waits for each consumer of this process, by the name of its subscription."""
        names = [known.name for known in self.queue.subscriptions() if known.id in self._dispatcher.subscriptions]
        return {name: self.queue.size(name) for name in names}

    # -- publishing

    async def publish(
        self,
        subject: str | Sequence[str] | Message,
        body: Body = b"",
        *,
        metadata: Mapping[str, str] | None = None,
        id: str | None = None,
        correlation_id: str | None = None,
        priority: int = 5,
        delay: float | None = None,
        expires: float | None = None,
        principal: str | None = None,
        **fields: Any,
    ) -> Published:
        """Publishes a message; returns when it, and all that it changes, is on disk.

        The subject may be given as its segments, or as a whole ``Message``. A body that is no text and no bytes is
        written as JSON. ``principal`` is who publishes; without one, access is not asked. ``fields`` are others of
        ``Message``. Raises ``AccessError`` (``publish-refused``), ``SubjectError``, ``MessageError`` and
        ``StoreError``; then nothing was published.
        """
        given = {"metadata": metadata, "id": id, "correlation_id": correlation_id} | fields
        message = self._message(subject, body, given)
        order = Order(priority, delay, expires, principal)
        return await self._committer.run(lambda transaction: self._publisher.publish(transaction, message, order))

    async def request(
        self, subject: str | Sequence[str], body: Body = b"", *, timeout: float = 30.0, **options: Any
    ) -> Message:
        """Publishes a message and gives the first reply to it: what its handler returned, or the result of a gathering.

        Raises ``TimeoutError`` after ``timeout`` seconds. ``options`` are those of ``publish``.
        """
        inbox = await self._open_inbox()
        metadata = dict(options.pop("metadata", None) or {}) | {REPLY_TO: inbox.name}
        id = options.pop("id", None) or new_id(self.queue.settings.clock())
        correlation = options.pop("correlation_id", None) or id
        reply = inbox.expect(correlation)
        try:
            await self.publish(subject, body, metadata=metadata, id=id, correlation_id=correlation, **options)
            return await asyncio.wait_for(reply, timeout)
        finally:
            reply.cancel()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[BrokerOutbox]:
        """A transaction of one's own on the file: what is published is there together with other changes to it."""
        with self.queue.transaction() as outbox:
            yield BrokerOutbox(outbox, self._publisher, self._message)

    def outbox(self, connection: Any) -> BrokerOutbox:
        """Publishes within the transaction that is open on a connection of the caller's, apsw's or sqlite3's."""
        return BrokerOutbox(self.queue.outbox(connection), self._publisher, self._message)

    # -- receiving

    def on(
        self,
        pattern: str | Sequence[str],
        *,
        name: str | None = None,
        ack: Ack = "auto",
        concurrency: int = 1,
        lease: float | None = None,
        max_attempts: int | None = None,
        principal: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Makes a function, plain or a coroutine, the handler of a durable subscription to a pattern.

        The subscription has the name of the function unless one is given, and goes on gathering while no process is
        there. What the function returns is a reply to whoever asked for one; what it raises gives the message back.
        With ``ack="manual"`` it says itself what became of the message. ``principal`` is whose rights it has.
        """

        def register(handler: Handler) -> Handler:
            chosen = name or f"{handler.__module__}.{handler.__qualname__}"
            text = pattern if isinstance(pattern, str) else self.table.dialect.separator.join(pattern)
            self._register(
                Registration(
                    chosen, as_act(handler), text, "", concurrency, lease, max_attempts, ack == "manual", principal
                )
            )
            return handler

        return register

    def handler(
        self, destination: str, *, ack: Ack = "auto", concurrency: int = 1, lease: float | None = None
    ) -> Callable[[Handler], Handler]:
        """Makes a function the handler of a destination of the table.

        Raises ``StoreError`` (``no-destination``) for one that the table does not have.
        """

        def register(handler: Handler) -> Handler:
            known = self.table.destinations.get(destination)
            if known is None or known.type != "handler":
                problem = f"the table has no destination {destination!r} of the type 'handler'"
                raise StoreError("no-destination", problem)
            self._register(
                Registration("", as_act(handler), None, destination, concurrency, lease, manual=ack == "manual")
            )
            return handler

        return register

    def subscribe(
        self,
        pattern: str | Sequence[str],
        *,
        name: str | None = None,
        ack: Ack = "auto",
        prefetch: int = 1,
        lease: float | None = None,
        principal: str | None = None,
    ) -> BrokerSubscription:
        """Messages as an asynchronous iterator, from now on; with a ``name`` the subscription is durable."""
        text = pattern if isinstance(pattern, str) else self.table.dialect.separator.join(pattern)
        chosen = name or f"temporary:{new_id(self.queue.settings.clock())}"
        subscription = BrokerSubscription(manual=ack == "manual")
        registration = Registration(chosen, subscription.act, text, "", prefetch, lease, None, True, principal)
        consumer = self._consumer(registration)
        self._dispatcher.add(consumer)

        async def close() -> None:
            await self._dispatcher.remove(consumer)
            if name is None:
                await asyncio.to_thread(self.queue.unsubscribe, chosen)

        subscription.close = close
        return subscription

    # -- inside

    def _register(self, registration: Registration) -> None:
        self._registrations.add(registration)
        if self._queue is not None:
            self._dispatcher.add(self._consumer(registration))

    async def _start(self, registration: Registration) -> None:
        self._dispatcher.add(await asyncio.to_thread(self._consumer, registration))

    def _consumer(self, registration: Registration) -> Consumer:
        return registration.consumer(self.queue.store, self.table, self._publisher)

    async def _open_inbox(self) -> Inbox:
        if self._inbox is None:
            self._inbox = inbox = Inbox()
            store = self.queue.store
            number = await self._committer.run(lambda transaction: inbox.make(store, transaction))
            lease = int(self.queue.settings.lease * 1_000_000)
            self._dispatcher.add(Consumer(number, inbox.name, inbox.act, concurrency=100, lease=lease))
        return self._inbox

    async def _drop_abandoned(self) -> None:
        store = self.queue.store
        for name in await self._committer.run(lambda transaction: abandoned(store, transaction)):
            with contextlib.suppress(StoreError):
                await asyncio.to_thread(upkeep.unsubscribe, store, name)

    def _expire(self, transaction: Transaction) -> float | None:
        return expire(transaction, self.table, self._publisher)

    def _message(self, subject: str | Sequence[str] | Message, body: Body, fields: Mapping[str, Any]) -> Message:
        if isinstance(subject, Message):
            return subject
        text = self.queue.store.keys.text(subject)
        given = {key: value for key, value in fields.items() if value is not None}
        given.setdefault("id", new_id(self.queue.settings.clock()))
        if isinstance(body, bytes | str):
            return Message(text, body.encode() if isinstance(body, str) else body, **given)
        return Message.from_dict({"subject": text, "body": body} | given)


def _table(table: RoutingTable | str | Path | None, environment: str | None) -> RoutingTable:
    if isinstance(table, RoutingTable):
        return table
    if table is None:
        return RoutingTable.parse("dialect: amqp")
    return RoutingTable.load(table, environment)
