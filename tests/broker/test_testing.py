"""The testing module: the real broker in memory, with a clock that the test moves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Nack, Received
from pointsman.errors import StoreError
from pointsman.store.settle import Backoff
from pointsman.testing import Clock, MemoryBroker
from tests.broker.running import in_loop, until


def test_the_broker_for_tests_is_the_broker() -> None:
    """Nothing of it is replaced: only the file, the clock, chance, and the means to wait are its own."""
    own = {name for name in vars(MemoryBroker) if not name.startswith("__")}
    assert issubclass(MemoryBroker, Broker)
    assert own == {"settle", "advance", "_move"}


@in_loop
async def test_nothing_is_written_outside_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And two of them know nothing of each other."""
    monkeypatch.chdir(tmp_path)
    async with MemoryBroker() as one, MemoryBroker() as two:
        async with one.subscribe("#", name="s"):
            await one.publish("a")
        assert two.queue.messages() == []
    assert list(tmp_path.iterdir()) == []


def test_the_clock_stands_still_until_it_is_told() -> None:
    """And may be moved back."""
    clock = Clock(1000.0)
    assert clock() == clock() == 1000.0
    clock.advance(5)
    clock.advance(-2)
    assert clock() == 1003.0


@in_loop
async def test_settle_waits_for_all_that_follows_and_for_nothing_that_is_later() -> None:
    """A chain of handlers, plain and not, each of which publishes for the next one."""
    async with MemoryBroker() as broker:
        seen: list[str] = []

        def hop(number: int) -> None:
            @broker.on(f"hop.{number}", name=f"hop {number}")
            async def handle(message: Received) -> None:
                await asyncio.sleep(0.001)
                seen.append(message.subject)
                await broker.publish(f"hop.{number + 1}")
                await broker.publish("later", delay=1)

        for number in range(10):
            hop(number)
        broker.on("later", name="later")(lambda _: seen.append("later"))
        await broker.publish("hop.0")
        await broker.settle()
        assert seen == [f"hop.{number}" for number in range(10)]
        await broker.advance(1)
        assert seen[10:] == ["later"] * 10


@in_loop
async def test_settle_waits_for_manual_handlers_but_not_for_what_a_caller_has() -> None:
    """A message in the hands of the test is the test's own affair."""
    async with MemoryBroker() as broker, broker.subscribe("#", ack="manual") as messages:
        seen: list[str] = []

        @broker.on("#", name="manual", ack="manual")
        async def handle(message: Received) -> None:
            await asyncio.sleep(0.01)
            seen.append(message.subject)
            await message.ack()

        await broker.publish("a")
        await broker.settle()
        assert seen == ["a"]
        assert await (await anext(messages)).ack()


@in_loop
async def test_many_timers_that_are_due_at_once_are_all_taken() -> None:
    """More than one look takes."""
    table = RoutingTable.parse(
        """
dialect: nats
sagas:
  s:
    starts: [{on: begin, to: waiting}]
    states: {waiting: {timeout: {after: 10, to: over, send: [timeout]}}, over: {final: true}}
"""
    )
    async with MemoryBroker(table) as broker:
        seen: list[str | None] = []
        broker.on("timeout", name="t", concurrency=10)(lambda each: seen.append(each.message.correlation_id))
        await asyncio.gather(*(broker.publish("begin", correlation_id=str(number)) for number in range(350)))
        await broker.advance(10)
        assert sorted(map(int, filter(None, seen))) == list(range(350))


@in_loop
async def test_advance_stops_at_every_moment_at_which_something_is_due() -> None:
    """What fails is tried again at its time, and not once for the whole of it."""
    async with MemoryBroker(backoff=Backoff(10, 2, 3600), random=lambda: 1.0, max_attempts=4) as broker:
        tried: list[float] = []
        start = broker.clock.now

        @broker.on("a", name="h")
        def handle(_: Received) -> None:
            tried.append(round(broker.clock.now - start, 3))
            raise Nack("again")

        await broker.publish("a")
        await broker.advance(3600)
        assert tried == [0, 10, 30, 70]
        assert broker.clock.now == start + 3600
        assert len(broker.queue.dead_letters()) == 1


@in_loop
async def test_what_is_in_flight_keeps_its_lease_when_the_clock_is_moved() -> None:
    """As a handler does whose lease the broker makes longer while the time passes."""
    async with MemoryBroker(lease=10) as broker, broker.subscribe("a", name="s", prefetch=2) as messages:
        await broker.publish("a")
        first = await anext(messages)
        await broker.advance(1000)
        assert broker.queue.size("s").leased == 1
        broker.clock.advance(-100_000)
        await broker.advance(1000)
        assert broker.queue.size("s").leased == 1
        assert await first.ack()


@in_loop
async def test_a_clock_that_is_set_back_neither_loses_nor_repeats() -> None:
    """Time goes on from where it was."""
    async with MemoryBroker() as broker:
        seen: list[str] = []
        broker.on("#", name="h")(lambda message: seen.append(message.subject))
        await broker.publish("late", delay=100)
        broker.clock.advance(-100_000)
        await broker.publish("now")
        await broker.settle()
        assert seen == ["now"]
        await broker.advance(101)
        assert seen == ["now", "late"]


@in_loop
async def test_chance_is_the_same_in_each_run() -> None:
    """By the seed, unless another source is given."""
    waits = []
    for seed in (1, 1, 2):
        async with MemoryBroker(seed=seed, max_attempts=3) as broker:
            times: list[float] = []

            @broker.on("a", name="h")
            def handle(_: Received, broker: MemoryBroker = broker, times: list[float] = times) -> None:
                times.append(broker.clock.now)
                raise Nack("again")

            await broker.publish("a")
            await broker.advance(100)
            waits.append(times)
    assert waits[0] == waits[1] != waits[2]


@in_loop
async def test_a_broker_that_is_closed_cannot_be_waited_for() -> None:
    """It says so, also when it is closed meanwhile."""
    broker = MemoryBroker()
    with pytest.raises(StoreError):
        await broker.settle()
    async with broker:
        started = asyncio.Event()

        @broker.on("a", name="h")
        async def handle(_: Received) -> None:
            started.set()
            await asyncio.sleep(0.05)

        await broker.publish("a")
        await started.wait()
        settling = asyncio.create_task(broker.settle())
        await asyncio.sleep(0)
    with pytest.raises(StoreError):
        await settling
    await until(settling.done)
