"""Saying what became of a message, by hand or by returning."""

from __future__ import annotations

from pointsman.broker.deliver import Nack, Received
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop


@in_loop
async def test_what_a_handler_returns_from_is_acknowledged() -> None:
    """And never comes again."""
    async with MemoryBroker() as broker:
        seen: list[int] = []
        broker.on("a", name="h")(lambda message: seen.append(message.attempts))
        await broker.publish("a")
        await broker.settle()
        await broker.advance(10_000)
        assert seen == [1]
        assert broker.queue.size().done == 1


@in_loop
async def test_with_manual_ack_the_handler_says_what_became_of_the_message() -> None:
    """Acknowledged, given back after a delay, or neither: then its lease runs out."""
    async with MemoryBroker(lease=30) as broker:
        seen: list[tuple[str, int]] = []

        @broker.on("#", name="h", ack="manual")
        async def handle(message: Received) -> None:
            seen.append((message.subject, message.attempts))
            if message.subject == "done":
                assert await message.ack()
                assert not await message.ack()
                assert not await message.nack()
            elif message.subject == "later" and message.attempts == 1:
                assert await message.nack("not now", delay=5)
            elif message.attempts == 2:
                await message.ack()

        for subject in ("done", "later", "neither"):
            await broker.publish(subject)
        await broker.settle()
        assert seen == [("done", 1), ("later", 1), ("neither", 1)]
        await broker.advance(5)
        assert seen[3:] == [("later", 2)]
        await broker.advance(25)
        assert seen[4:] == [("neither", 2)]
        assert broker.queue.size().done == 3


@in_loop
async def test_an_ack_after_the_lease_was_lost_changes_nothing() -> None:
    """And says so; the message belongs to whoever has it now."""
    async with MemoryBroker(lease=30) as broker:
        kept: list[Received] = []
        broker.on("a", name="h", ack="manual")(kept.append)
        await broker.publish("a")
        await broker.settle()
        await broker.advance(30)
        first, second = kept
        assert (first.attempts, second.attempts) == (1, 2)
        assert first.delivery_id == second.delivery_id
        assert not await first.ack()
        assert await second.ack()


@in_loop
async def test_with_manual_ack_a_handler_that_raises_gives_the_message_back() -> None:
    """As with automatic."""
    async with MemoryBroker() as broker:
        seen: list[int] = []

        @broker.on("a", name="h", ack="manual")
        async def handle(message: Received) -> None:
            seen.append(message.attempts)
            if message.attempts == 1:
                raise Nack("again", delay=1)
            await message.ack()

        await broker.publish("a")
        await broker.settle()
        await broker.advance(1)
        assert seen == [1, 2]
