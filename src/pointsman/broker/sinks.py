"""The destinations of the table that need no handler: files, folders, queues, HTTP endpoints and other subjects."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from pointsman.broker.deliver import Act, Received
from pointsman.broker.handlers import Registration
from pointsman.table.loading.compile import Destination
from pointsman.table.routing_table import RoutingTable


class Sinks:
    """Opens the destinations, and makes them handlers of their deliveries.

    Raises ``InputError`` (``bad-destination``) for options that are wrong, before anything is opened.
    """

    def __init__(self, table: RoutingTable, folder: Path, publish: Callable[[Any], Awaitable[Any]]) -> None:
        from pointsman.destinations import read_options

        self._destinations = []
        for each in table.destinations.values():
            options = read_options(each.name, each.type, each.options, each.place)
            if each.type != "handler":
                self._destinations.append((each, options))
        self._folder = folder
        self._publish = publish
        self._open: list[Any] = []
        self.registrations: list[Registration] = []

    async def open(self) -> None:
        """Opens all. Raises ``InputError`` (``bad-destination``), and then leaves none open."""
        try:
            for destination, options in self._destinations:
                self.registrations.append(await self._make(destination, options))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Closes all that are open."""
        while self._open:
            await self._open.pop().close()

    async def _make(self, destination: Destination, options: Any) -> Registration:
        from pointsman.destinations import make_sink

        concurrency = int(getattr(options, "concurrency", 1))
        if destination.type == "subject":
            act = self._republishing(destination, options)
        else:
            sink = make_sink(destination.name, destination.type, destination.options, self._folder, destination.place)
            await sink.open()
            self._open.append(sink)
            act = _delivering(destination, sink)
        return Registration("", act, None, destination.name, concurrency)

    def _republishing(self, destination: Destination, options: Any) -> Act:
        from pointsman.destinations import republished

        async def act(received: Received) -> None:
            await self._publish(republished(_delivered(destination, received), options))

        return act


def _delivering(destination: Destination, sink: Any) -> Act:
    async def act(received: Received) -> None:
        await sink.deliver(_delivered(destination, received))

    return act


def _delivered(destination: Destination, received: Received) -> Any:
    from pointsman.destinations import Delivered

    attempt = received.attempt
    whose = (attempt.owner, attempt.subscriptions)
    return Delivered(received.delivery_id, attempt.route, destination.name, received.message, *whose)
