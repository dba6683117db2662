"""A subscription as an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from pointsman.broker.deliver import Received

Close = Callable[[], Awaitable[None]]
Held = tuple[Received, "asyncio.Future[None]"]


class BrokerSubscription:
    """Messages as they come. Each is acknowledged when the next one is asked for, unless that is left to the caller.

    To be closed, with ``async with`` or ``aclose``: a message at which the caller stopped is then given back. It ends
    when it is closed, or the broker is. For one task at a time.
    """

    def __init__(self, *, manual: bool) -> None:
        self._manual = manual
        self._arrived: asyncio.Queue[Held | None] = asyncio.Queue()
        self._current: Held | None = None
        self._closed = False
        self.opening: asyncio.Task[Close] | None = None
        """Set by the broker: gives what ends the consumer."""

    async def act(self, received: Received) -> None:
        """Hands a message over, and returns when the caller has done with it."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._arrived.put_nowait((received, done))
        await done

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        await self._open()
        await self._finish_current()
        if self._closed:
            raise StopAsyncIteration
        arrived = await self._arrived.get()
        if arrived is None:
            self._arrived.put_nowait(None)
            raise StopAsyncIteration
        self._current = arrived
        return arrived[0]

    async def aclose(self) -> None:
        """Ends the subscription for this process; a durable one goes on gathering messages."""
        if not self._closed:
            self._closed = True
            self._arrived.put_nowait(None)
            await (await self._open())()

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _open(self) -> Close:
        """Waits until it is stored. Raises what went wrong with that."""
        if self.opening is None:
            raise AssertionError("the broker has not begun this subscription")
        return await asyncio.shield(self.opening)

    async def _finish_current(self) -> None:
        if self._current is None:
            return
        (received, done), self._current = self._current, None
        try:
            if not self._manual and not self._closed:
                await received.ack()
        finally:
            if not done.done():
                done.set_result(None)
