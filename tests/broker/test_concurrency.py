"""How many messages a handler has at a time."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from pointsman.broker.deliver import Received
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("concurrency", [1, 3, 12])
def test_a_handler_runs_as_often_at_a_time_as_it_may_and_not_more(concurrency: int, plain: bool) -> None:
    """Plain functions too, however few threads the event loop has for itself."""

    @in_loop
    async def run() -> None:
        running, most, done = 0, 0, 0
        lock = threading.Lock()
        full = threading.Event()
        opened = asyncio.Event()

        def enter() -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
                if running == concurrency:
                    full.set()

        def leave() -> None:
            nonlocal running, done
            with lock:
                running -= 1
                done += 1

        def in_a_thread(_: Received) -> None:
            enter()
            assert full.wait(30)
            leave()

        async def in_the_loop(_: Received) -> None:
            enter()
            if full.is_set():
                opened.set()
            await opened.wait()
            leave()

        async with MemoryBroker() as broker:
            handler: Any = in_a_thread if plain else in_the_loop
            broker.on("a", name="h", concurrency=concurrency)(handler)
            await asyncio.gather(*(broker.publish("a") for _ in range(3 * concurrency)))
            await broker.settle()
        assert (most, done) == (concurrency, 3 * concurrency)

    run()


@in_loop
async def test_with_a_concurrency_of_one_messages_are_handled_in_their_order() -> None:
    """One after the other."""
    async with MemoryBroker() as broker:
        seen: list[int] = []

        @broker.on("#", name="h")
        async def handle(message: Received) -> None:
            number = int(message.body)
            await asyncio.sleep(0.001 * (number % 3))
            seen.append(number)

        await asyncio.gather(*(broker.publish("a", str(number)) for number in range(30)))
        await broker.settle()
        assert seen == list(range(30))


@in_loop
async def test_a_slow_handler_does_not_keep_the_others_waiting() -> None:
    """Nor does a plain one keep the event loop."""
    async with MemoryBroker(grace=5) as broker:
        release = threading.Event()
        seen: list[str] = []
        broker.on("a", name="slow")(lambda _: release.wait(30))
        broker.on("a", name="quick")(lambda message: seen.append(message.subject))
        await broker.publish("a")
        await broker.publish("a")
        await until(lambda: len(seen) == 2)
        release.set()
