"""What may be published, how it arrives, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from pointsman import Message
from pointsman.errors import MessageError, SubjectError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop


@in_loop
async def test_segments_may_be_given_as_a_list() -> None:
    """To publish, to handle and to subscribe; a segment with a separator in it is refused."""
    async with MemoryBroker() as broker:
        seen: list[str] = []
        broker.on(["orders", "*", "#"], name="list")(lambda message: seen.append(message.subject))
        async with broker.subscribe(["orders", "eu"]) as orders:
            await broker.publish(["orders", "eu"])
            assert (await anext(orders)).subject == "orders.eu"
        await broker.settle()
        assert seen == ["orders.eu"]
        with pytest.raises(SubjectError):
            await broker.publish(["orders.eu", "laptops"])


@pytest.mark.parametrize(
    ("body", "content", "content_type"),
    [
        (b"\x00\xff", b"\x00\xff", None),
        ("höflich", "höflich".encode(), None),
        ({"a": [1, None]}, b'{"a":[1,None]}'.replace(b"None", b"null"), "application/json"),
        ([1, 2], b"[1,2]", "application/json"),
    ],
)
def test_a_body_may_be_bytes_text_or_what_json_can_hold(body: Any, content: bytes, content_type: str | None) -> None:
    """Text is UTF-8."""

    @in_loop
    async def run() -> None:
        async with MemoryBroker() as broker, broker.subscribe("a") as messages:
            await broker.publish("a", body)
            got = (await anext(messages)).message
            assert (got.body, got.content_type) == (content, content_type)

    run()


@in_loop
async def test_a_whole_message_arrives_as_it_was_published() -> None:
    """All of its fields; others cannot be given besides."""
    message = Message("a.b", b"x", metadata={"k": "v"}, source="there", correlation_id="c", causation_id="d")
    async with MemoryBroker() as broker, broker.subscribe("#") as messages:
        await broker.publish(message)
        assert (await anext(messages)).message == message
        with pytest.raises(MessageError, match="metadata cannot be given besides"):
            await broker.publish(message, metadata={"k": "w"})


@in_loop
async def test_the_time_and_the_id_of_a_message_come_from_the_brokers_clock() -> None:
    """Ids sort by the time at which they were made."""
    async with MemoryBroker() as broker, broker.subscribe("a") as messages:
        first = await broker.publish("a")
        await broker.advance(10)
        second = await broker.publish("a")
        got = (await anext(messages)).message
        assert got.time is not None
        assert got.time.timestamp() == broker.clock.now - 10
        assert first.id < second.id


@in_loop
async def test_delay_expiry_and_priority_are_those_of_the_queue() -> None:
    """A message that expires before its delay is over is a dead letter; a lower number goes first."""
    async with MemoryBroker() as broker:
        seen: list[str] = []
        await broker.publish("late", delay=60)
        await broker.publish("gone", delay=60, expires=30)
        broker.on("#", name="all")(lambda message: seen.append(message.subject))
        await broker.publish("late", delay=60)
        await broker.publish("gone", delay=60, expires=30)
        with broker.transaction() as outbox:
            outbox.publish("last", priority=9)
            outbox.publish("first", priority=1)
        await broker.settle()
        assert seen == ["first", "last"]
        await broker.advance(60)
        assert seen == ["first", "last", "late"]
        (dead,) = broker.queue.dead_letters("all")
        assert dead.message is not None
        assert (dead.message.routing_key, dead.reason) == ("gone", "it expired before anybody took it")
