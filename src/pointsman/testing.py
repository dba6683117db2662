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

SHORTEST = 1e-6
"""Seconds that the clock is moved by at least, as the queue's time has no smaller ones."""


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

        It stops at every moment on the way at which something is due, as if the time had passed by itself: what fails
        is tried again at its time, and what is in flight keeps its lease.
        """
        await self.settle()
        end = self.clock.now + seconds
        while (due := self._runtime.dispatcher.due) is not None and self.clock.now + due < end:
            await self._move(max(due, SHORTEST))
        await self._move(end - self.clock.now)

    async def _move(self, seconds: float) -> None:
        await self._runtime.dispatcher.leases.extend(max(0.0, seconds))
        self.clock.advance(seconds)
        await self.settle()
