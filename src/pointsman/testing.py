"""For tests of what uses a broker: the real broker, on a file in memory, with a clock that the test moves.

>>> import asyncio
>>> from pointsman.testing import MemoryBroker
>>> async def main():
...     async with MemoryBroker() as broker:
...         seen = []
...         broker.on("orders.#", name="test")(lambda message: seen.append(message.subject))
...         await broker.publish("orders.late", delay=3600)
...         await broker.settle()
...         before = list(seen)
...         await broker.advance(3600)
...         return before, seen
>>> asyncio.run(main())
([], ['orders.late'])
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from pointsman.broker.broker import Broker
from pointsman.table.routing_table import RoutingTable

__all__ = ["Clock", "MemoryBroker"]


class Clock:
    """A clock that stands still until it is told; in seconds since 1970."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """The time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Moves on, or back."""
        self.now += seconds


class MemoryBroker(Broker):
    """The broker on a file in memory. Chance is the same in each run, by ``seed``; all else is as in the broker."""

    def __init__(
        self,
        table: RoutingTable | str | Path | None = None,
        *,
        clock: Clock | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.clock = clock or Clock()
        chosen: dict[str, Any] = {"random": random.Random(seed).random} | settings  # noqa: S311, as it is for tests
        super().__init__(":memory:", table, clock=self.clock, **chosen)

    async def settle(self) -> None:
        """Waits until everything that can be delivered now is delivered, and what follows from it too.

        What was handed to a caller who settles it is not waited for. Not to be called by a handler: it would wait for
        itself. Raises ``StoreError`` (``store-closed``) unless the broker is open.
        """
        quiet = 0
        while quiet < 2:
            dispatcher = self._runtime.dispatcher
            rounds = dispatcher.rounds
            dispatcher.wake()
            while dispatcher.rounds == rounds and self._runtime.dispatcher is dispatcher:
                await asyncio.sleep(0)
            quiet = 0 if dispatcher.busy or dispatcher.found else quiet + 1

    async def advance(self, seconds: float) -> None:
        """Moves the clock, and waits until all that this brings about is done.

        Whatever is in flight keeps its lease, as it would if the time had passed by itself.
        """
        await self._runtime.dispatcher.leases.extend(max(0.0, seconds))
        self.clock.advance(seconds)
        await self.settle()
