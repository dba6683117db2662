"""Leaving ``async with``: what is in flight is finished or given back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pointsman import Broker, Queue
from pointsman.broker.deliver import Received
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


@in_loop
async def test_what_is_in_flight_is_finished_within_the_grace(tmp_path: Path) -> None:
    """And nothing more is begun."""
    started, release, done = asyncio.Event(), asyncio.Event(), []
    async with Broker(tmp_path / "app.db", grace=30) as broker:

        @broker.on("#", name="h")
        async def handle(message: Received) -> None:
            started.set()
            await release.wait()
            done.append(message.subject)

        await broker.publish("a")
        await broker.publish("b")
        await started.wait()
        asyncio.get_running_loop().call_later(0.05, release.set)
    assert done == ["a"]
    with Queue(tmp_path / "app.db", dialect=None) as queue:
        sizes = queue.size("h")
        assert (sizes.ready, sizes.leased) == (1, 0)


@pytest.mark.parametrize("plain", [False, True])
def test_what_does_not_finish_is_given_back_as_if_it_had_never_been_taken(tmp_path: Path, plain: bool) -> None:
    """Its attempt is not counted; a coroutine is cancelled, and a plain function cannot be stopped."""
    release = threading.Event()

    @in_loop
    async def run() -> None:
        started = threading.Event()
        cancelled: list[str] = []

        def in_a_thread(_: Received) -> None:
            started.set()
            release.wait(30)

        async def in_the_loop(message: Received) -> None:
            started.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled.append(message.subject)
                raise

        async with Broker(tmp_path / "app.db", grace=0.05) as broker:
            broker.on("#", name="h", concurrency=2)(in_a_thread if plain else in_the_loop)
            await broker.publish("a")
            await broker.publish("b")
            await until(lambda: broker.queue.size("h").leased == 2)
            await until(started.is_set)
        assert sorted(cancelled) == ([] if plain else ["a", "b"])
        again: list[int] = []
        broker = Broker(tmp_path / "app.db")
        broker.on("#", name="h")(lambda message: again.append(message.attempts))
        async with broker:
            await until(lambda: len(again) == 2)
        assert again == [1, 1]

    try:
        run()
    finally:
        release.set()


def test_a_process_whose_plain_handler_never_returns_still_ends(tmp_path: Path) -> None:
    """After the grace, with the message given back."""
    program = """
import asyncio, sys, threading
from pointsman import Broker
async def main():
    started = threading.Event()
    def handle(message):
        started.set()
        threading.Event().wait()
    async with Broker(sys.argv[1], grace=0.05) as broker:
        broker.on("#", name="h")(handle)
        await broker.publish("a")
        while not started.is_set():
            await asyncio.sleep(0.01)
asyncio.run(main())
print("ended")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "app.db")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (ended.stdout, ended.stderr) == ("ended\n", "")
    with Queue(tmp_path / "app.db", dialect=None) as queue:
        assert queue.size("h").ready == 1


@in_loop
async def test_a_handler_that_holds_on_to_its_cancellation_is_waited_for() -> None:
    """It may finish its work when it is told to stop, and then it is done."""
    finished = []
    async with MemoryBroker(grace=0.01) as broker:
        started = asyncio.Event()

        @broker.on("a", name="h")
        async def handle(message: Received) -> None:
            started.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                finished.append(await message.ack())

        await broker.publish("a")
        await started.wait()
    assert finished == [True]


@in_loop
async def test_an_error_within_the_block_is_what_comes_out_of_it(tmp_path: Path) -> None:
    """And the broker is closed all the same."""

    async def main() -> None:
        async with Broker(tmp_path / "app.db") as broker:
            broker.on("a", name="h")(print)
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await main()
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.endswith("-bells")) == []


@in_loop
async def test_a_program_that_is_interrupted_closes_its_broker(tmp_path: Path) -> None:
    """A cancelled task leaves the block as any other, and again while it is leaving."""
    for again in (False, True):
        started = asyncio.Event()

        async def main(started: asyncio.Event = started) -> None:
            async with Broker(tmp_path / "app.db", grace=0.2) as broker:

                @broker.on("a", name="h")
                async def handle(_: Received) -> None:
                    started.set()
                    await asyncio.sleep(3600)

                await broker.publish("a")
                await asyncio.sleep(3600)

        task = asyncio.create_task(main())
        await started.wait()
        task.cancel()
        if again:
            await asyncio.sleep(0.05)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    with Queue(tmp_path / "app.db", dialect=None) as queue:
        assert queue.size("h").ready == 2


@in_loop
async def test_publishes_that_were_begun_are_finished_when_the_broker_is_closed(tmp_path: Path) -> None:
    """None of them hangs, and what returned is there."""
    async with Broker(tmp_path / "app.db") as broker:
        async with broker.subscribe("#", name="s"):
            pass
        tasks = [asyncio.create_task(broker.publish("a")) for _ in range(20)]
        await asyncio.sleep(0)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    stored = sum(not isinstance(each, BaseException) for each in outcomes)
    assert stored == 20
    with Queue(tmp_path / "app.db", dialect=None) as queue:
        assert queue.size("s").ready == stored
