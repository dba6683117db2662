"""Subscriptions as asynchronous iterators."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import apsw
import pytest

from pointsman import Broker, Queue
from pointsman.broker.deliver import Received
from pointsman.errors import InputError, PatternError, StoreError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


@in_loop
async def test_a_subscription_is_an_asynchronous_iterator_of_what_comes_from_then_on() -> None:
    """Also when its first message is asked for only later."""
    async with MemoryBroker() as broker:
        await broker.publish("orders.before")
        orders = broker.subscribe("orders.#")
        for number in range(3):
            await broker.publish(f"orders.{number}")
        await broker.publish("other")
        seen = []
        async for message in orders:
            seen.append(message.subject)
            if len(seen) == 3:
                break
        assert seen == ["orders.0", "orders.1", "orders.2"]
        await orders.aclose()


@in_loop
async def test_a_message_is_acknowledged_when_the_next_one_is_asked_for() -> None:
    """One at which the caller stopped is given back when it closes, and counts as never tried."""
    async with MemoryBroker() as broker:
        async with broker.subscribe("#", name="s") as messages:
            for body in "abc":
                await broker.publish("x", body)
            assert [(await anext(messages)).body for _ in range(2)] == [b"a", b"b"]
        assert broker.queue.size().done == 1
        async with broker.subscribe("#", name="s") as messages:
            again = await anext(messages)
            assert (again.body, again.attempts) == (b"b", 1)


@in_loop
async def test_a_durable_subscription_goes_on_gathering_and_a_temporary_one_ends() -> None:
    """With a name and without."""
    async with MemoryBroker() as broker:
        async with broker.subscribe("#", name="durable"), broker.subscribe("#"):
            assert len(broker.queue.subscriptions()) == 2
        assert [each.name for each in broker.queue.subscriptions()] == ["durable"]
        assert (await broker.publish("a")).deliveries == 1
        async with broker.subscribe("#", name="durable") as messages:
            assert (await anext(messages)).subject == "a"


@in_loop
async def test_manual_ack_is_left_to_the_caller() -> None:
    """What it does not acknowledge comes again when its lease has run out."""
    async with MemoryBroker(lease=30) as broker, broker.subscribe("#", name="s", ack="manual") as messages:
        await broker.publish("a")
        await broker.publish("b")
        first = await anext(messages)
        second = await anext(messages)
        assert await second.ack()
        waiting = asyncio.create_task(anext(messages))
        await broker.advance(30)
        again = await waiting
        assert (again.subject, again.attempts) == ("a", 2)
        assert not await first.ack()
        assert await again.nack("later", delay=5)
        waiting = asyncio.create_task(anext(messages))
        await broker.advance(5)
        assert (await waiting).attempts == 3


@in_loop
async def test_prefetch_is_how_many_messages_are_taken_ahead() -> None:
    """Another consumer of the same subscription gets the rest."""
    async with MemoryBroker() as broker:
        async with broker.subscribe("#", name="s", prefetch=3):
            for _ in range(10):
                await broker.publish("a")
            await broker.settle()
            sizes = broker.queue.size("s")
            assert (sizes.leased, sizes.ready) == (3, 7)
        sizes = broker.queue.size("s")
        assert (sizes.leased, sizes.ready) == (0, 10)


@in_loop
async def test_two_consumers_of_one_name_share_its_messages() -> None:
    """Each gets every message that the other does not."""
    async with MemoryBroker() as broker, broker.subscribe("#", name="s") as one, broker.subscribe("#", name="s") as two:
        for number in range(2):
            await broker.publish("a", str(number))
        assert {(await anext(one)).body, (await anext(two)).body} == {b"0", b"1"}


@in_loop
async def test_waiting_for_a_message_may_be_given_up() -> None:
    """Nothing is lost by a wait that was cancelled, at whatever moment."""
    async with MemoryBroker() as broker, broker.subscribe("#") as messages:
        seen = []
        for number in range(30):
            waiting = asyncio.create_task(anext(messages))
            for _ in range(number % 7):
                await asyncio.sleep(0)
            publishing = asyncio.create_task(broker.publish("a", str(number)))
            for _ in range(number % 5):
                await asyncio.sleep(0)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                seen.append((await waiting).body)
            await publishing
        while len(seen) < 30:
            seen.append((await anext(messages)).body)
        assert seen == [str(number).encode() for number in range(30)]


@in_loop
async def test_a_subscription_that_is_closed_ends_also_for_who_waits() -> None:
    """And to close it twice is no mistake."""
    async with MemoryBroker() as broker:
        messages = broker.subscribe("#")

        async def consume() -> list[Received]:
            return [message async for message in messages]

        consuming = asyncio.create_task(consume())
        await broker.settle()
        await messages.aclose()
        await messages.aclose()
        assert await consuming == []
        assert [message async for message in messages] == []


@in_loop
async def test_subscriptions_end_when_the_broker_is_closed() -> None:
    """What the caller had in its hands is given back; a temporary one is gone from the file."""
    async with MemoryBroker() as broker:
        messages = broker.subscribe("#", name="s")
        waiting = broker.subscribe("none")
        await broker.publish("a")
        await anext(messages)
        task = asyncio.create_task(anext(waiting, None))
        await broker.settle()
        store = broker.queue
    assert await task is None
    with pytest.raises(StopAsyncIteration):
        await anext(messages)
    with pytest.raises(StoreError):
        store.subscriptions()


@in_loop
async def test_a_pattern_that_is_none_is_refused_at_once_and_a_name_of_another_pattern_when_it_is_opened() -> None:
    """The broker goes on in either case."""
    async with MemoryBroker() as broker:
        with pytest.raises(PatternError):
            broker.subscribe("a" * 300)
        with pytest.raises(InputError):
            broker.subscribe("a", prefetch=0)
        async with broker.subscribe("a", name="s"):
            pass
        with pytest.raises(StoreError) as caught:
            async with broker.subscribe("b", name="s"):
                raise AssertionError("opened")
        assert caught.value.code == "subscription-differs"
        other = broker.subscribe("b", name="s")
        with pytest.raises(StoreError):
            await anext(other)
        with pytest.raises(StoreError):
            await other.aclose()


@in_loop
async def test_a_consumer_that_ends_while_its_messages_are_being_taken_gives_them_back() -> None:
    """At whatever moment it is closed."""
    async with MemoryBroker() as broker:
        async with broker.subscribe("#", name="s"):
            pass
        for number in range(40):
            await broker.publish("a", str(number))
        for steps in range(40):
            messages = broker.subscribe("#", name="s", prefetch=10)
            async with messages:
                for _ in range(steps):
                    await asyncio.sleep(0)
            await broker.settle()
            assert broker.queue.size("s").leased == 0
        async with broker.subscribe("#", name="s") as messages:
            got = [await anext(messages) for _ in range(40)]
        assert [each.attempts for each in got] == [1] * 40


@in_loop
async def test_the_event_loop_goes_on_while_the_file_is_locked(tmp_path: Path) -> None:
    """Neither publishing nor subscribing waits for the disk within the event loop."""
    async with Broker(tmp_path / "app.db", grace=5) as broker:
        await broker.publish("a")
        other = apsw.Connection(str(tmp_path / "app.db"))
        other.execute("BEGIN IMMEDIATE")
        publishing = asyncio.create_task(broker.publish("b"))
        messages = broker.subscribe("c")
        for _ in range(100):
            await asyncio.sleep(0.001)
        assert not publishing.done()
        other.execute("ROLLBACK")
        other.close()
        await publishing
        await broker.publish("c")
        assert (await anext(messages)).subject == "c"


@in_loop
async def test_a_message_that_takes_longer_than_its_lease_keeps_it(tmp_path: Path) -> None:
    """Also for a consumer that came when the others' leases were long."""
    async with Broker(tmp_path / "app.db", lease=60) as broker:
        broker.on("x", name="other")(print)
        async with broker.subscribe("a", name="s", lease=0.2) as messages:
            await broker.publish("a")
            first = await anext(messages)
            until_then = first.attempt.stored.until
            await until(lambda: first.attempt.stored.until > until_then + 400_000)
            assert await first.ack()
    with Queue(tmp_path / "app.db", dialect=None) as queue:
        assert queue.size("s").ready == 0
