"""The embedded broker."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from pointsman.broker.deliver import Handler, as_act
from pointsman.broker.handlers import Registration, Registrations
from pointsman.broker.iterator import BrokerSubscription
from pointsman.broker.outbox import BrokerOutbox
from pointsman.broker.publish import (
    REPLY_TO,
    TEMPORARY,
    Body,
    Order,
    Published,
    check_handler,
    make_message,
    read_table,
)
from pointsman.broker.runtime import Runtime
from pointsman.broker.sinks import Sinks
from pointsman.broker.subscriptions import BrokerSubscriptions
from pointsman.errors import InputError, StoreError
from pointsman.message import Message
from pointsman.patterns.dialect import check_wildcards
from pointsman.store.message import Sizes
from pointsman.store.queue import Queue
from pointsman.table.routing_table import RoutingTable

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
    in the dialect ``amqp``. ``functions`` are the Python functions that the table names. Relative paths in destinations
    are relative to the ``folder``, by default that of the file. ``grace`` is how many seconds handlers have to finish
    when the broker is closed. Other settings are those of ``QueueSettings``. Belongs to one event loop; ``publish`` of
    several tasks at a time share one sync of the disk.
    """

    def __init__(
        self,
        path: str | Path,
        table: RoutingTable | str | Path | None = None,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        environment: str | None = None,
        folder: str | Path | None = None,
        grace: float = 30.0,
        **settings: Any,
    ) -> None:
        self.table = read_table(table, environment, functions or {})
        self._dialect_is_chosen = "dialect" in settings or (table is not None and "dialect" in self.table.plain)
        self._path = path
        self._folder = Path(folder) if folder is not None else Path(path).parent
        self._grace = grace
        self._settings = {"dialect": self.table.dialect.name, "main": "never"} | settings
        self._registrations = Registrations()
        self._open: Runtime | None = None
        self.subscriptions = BrokerSubscriptions(self.table, lambda: self.queue.store)
        """The wildcard subscriptions: who gets messages by their metadata, at which destinations of the table."""

    def __repr__(self) -> str:
        return f"Broker({str(self._path)!r}, {self.table!r}, {'closed' if self._open is None else 'open'})"

    # -- life

    async def __aenter__(self) -> Self:
        """Opens the file and the destinations, and begins to deliver.

        Raises ``InputError``, ``StoreError``, ``PatternError`` and ``AccessError``; then nothing is left open.
        """
        if self._open is not None:
            raise InputError("bad-setting", "the broker is open already")
        sinks = Sinks(self.table, self._folder, self.publish)
        queue = await asyncio.to_thread(Queue, self._path, **self._settings)
        # A clock that is given may be one that a test moves; otherwise one that nobody sets.
        patience = self._settings.get("clock", time.monotonic)
        self._open = runtime = Runtime(queue, self.table, patience)
        try:
            await runtime.open(sinks, self._registrations.all, self._grace)
        except BaseException:
            self._open = None
            queue.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Takes no more, finishes or gives back what is in flight, and closes the file."""
        runtime = self._runtime
        try:
            await runtime.close()
        finally:
            self._open = None
            runtime.queue.close()

    @property
    def queue(self) -> Queue:
        """The queue that the broker is on: for its sizes, dead letters, upkeep. Raises ``StoreError`` unless open."""
        return self._runtime.queue

    def sizes(self) -> dict[str, Sizes]:
        """What waits for each consumer of this process, by the name of its subscription."""
        here = self._runtime.dispatcher.subscriptions
        return {known.name: self.queue.size(known.name) for known in self.queue.subscriptions() if known.id in here}

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
        ``Message``. Raises ``AccessError`` (``publish-refused``), ``SubjectError``, ``MessageError``, ``RoutingError``
        (``endless-saga``) and ``StoreError``; then nothing was published.
        """
        given = {"metadata": metadata, "id": id, "correlation_id": correlation_id} | fields
        message = self._message(subject, body, given)
        return await self._publish(message, Order(priority, delay, expires, principal))

    async def request(
        self,
        subject: str | Sequence[str],
        body: Body = b"",
        *,
        timeout: float = 30.0,
        metadata: Mapping[str, str] | None = None,
        priority: int = 5,
        delay: float | None = None,
        expires: float | None = None,
        principal: str | None = None,
        **fields: Any,
    ) -> Message:
        """Publishes a message and gives the first reply to it: what its handler returned, or the result of a gathering.

        The reply is a ``Message``; its ``json()`` is what a handler returned as JSON. Other options are those of
        ``publish``. Raises ``RoutingError`` (``no-responders``) at once when nobody gets the message, and
        ``TimeoutError`` after ``timeout`` seconds.
        """
        inbox = await self._runtime.inbox()
        message = self._message(subject, body, {"metadata": {**(metadata or {}), REPLY_TO: inbox.name}} | fields)
        order = Order(priority, delay, expires, principal, inbox.name)
        return await inbox.ask(message, lambda: self._publish(message, order), timeout)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[BrokerOutbox]:
        """A transaction of one's own on the file: what is published is there together with other changes to it."""
        with self.queue.transaction() as outbox:
            yield BrokerOutbox(outbox, self._runtime.publisher, self._message)

    def outbox(self, connection: Any) -> BrokerOutbox:
        """Publishes within the transaction that is open on an apsw connection of the caller's to the same file."""
        return BrokerOutbox(self.queue.outbox(connection), self._runtime.publisher, self._message)

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
            limits = (concurrency, lease, max_attempts, ack == "manual", principal)
            self._register(Registration(chosen, as_act(handler), self._text(pattern), "", *limits))
            return handler

        return register

    def handler(
        self, destination: str, *, ack: Ack = "auto", concurrency: int = 1, lease: float | None = None
    ) -> Callable[[Handler], Handler]:
        """Makes a function the handler of a destination of the table.

        Raises ``StoreError`` (``no-destination``) for one that the table does not have.
        """

        def register(handler: Handler) -> Handler:
            check_handler(self.table, destination)
            limits = (concurrency, lease, None, ack == "manual")
            self._register(Registration("", as_act(handler), None, destination, *limits))
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
        subscription = BrokerSubscription(manual=ack == "manual")
        chosen = name or self._runtime.name_of(TEMPORARY)
        limits = (prefetch, lease, None, True, principal, True)
        registration = Registration(chosen, subscription.act, self._text(pattern), "", *limits)
        self._runtime.begin(subscription, registration, durable=name is not None)
        return subscription

    # -- inside

    @property
    def _runtime(self) -> Runtime:
        if self._open is None:
            raise StoreError("store-closed", "the broker is not open: use it with 'async with'")
        return self._open

    async def _publish(self, message: Message, order: Order) -> Published:
        publisher = self._runtime.publisher
        return await self._runtime.committer.run(lambda transaction: publisher.publish(transaction, message, order))

    def _register(self, registration: Registration) -> None:
        self._registrations.add(registration)
        try:
            if self._open is not None:
                self._open.add(registration)
        except BaseException:
            self._registrations.all.remove(registration)
            raise

    def _text(self, pattern: str | Sequence[str]) -> str:
        """The pattern as a text. Raises ``PatternError`` (``foreign-wildcard``) unless the dialect was chosen."""
        text = pattern if isinstance(pattern, str) else self.table.dialect.separator.join(pattern)
        check_wildcards(text, self.table.dialect, chosen=self._dialect_is_chosen)
        return text

    def _message(self, subject: str | Sequence[str] | Message, body: Body, fields: Mapping[str, Any]) -> Message:
        return make_message(self.queue.store, subject, body, fields)
