"""A subscription as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

from pointsman.broker.received import Received


class BrokerSubscription:
    """Messages as they come. Each is acknowledged when the next one is asked for, unless that is left to the caller.

    To be closed, with ``async with`` or ``aclose``: a message at which the caller stopped is then given back.
    """

    def __init__(self, *, manual: bool) -> None:
        self._manual = manual
        self._arrived: asyncio.Queue[tuple[Received, asyncio.Future[None]]] = asyncio.Queue()
        self._current: tuple[Received, asyncio.Future[None]] | None = None
        self._closed = False
        self.close: Callable[[], Awaitable[None]] | None = None
        """Set by the broker: ends the consumer."""

    async def act(self, received: Received) -> None:
        """Hands a message over, and returns when the caller has done with it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._arrived.put((received, done))
        await done

    def __aiter__(self) -> BrokerSubscription:
        return self

    async def __anext__(self) -> Received:
        if self._closed:
            raise StopAsyncIteration
        if self._current is not None:
            received, done = self._current
            self._current = None
            if not self._manual:
                await received.ack()
            if not done.done():
                done.set_result(None)
        self._current = await self._arrived.get()
        return self._current[0]

    async def aclose(self) -> None:
        """Ends the subscription for this process; a durable one goes on gathering messages."""
        if not self._closed:
            self._closed = True
            if self.close is not None:
                await self.close()

    async def __aenter__(self) -> BrokerSubscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
