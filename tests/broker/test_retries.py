"""Handlers that fail: tried again, and given up."""

from __future__ import annotations

import asyncio

import pytest

from pointsman import RoutingTable
from pointsman.broker.deliver import Nack, Received, Reject
from pointsman.errors import StoreError
from pointsman.store.settle import Backoff
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop


@in_loop
async def test_a_handler_that_raises_gets_its_message_again_after_a_growing_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Until it used up its attempts: then it is a dead letter with its reason, its attempts and the last error."""
    async with MemoryBroker(max_attempts=3, backoff=Backoff(10, 2, 3600), random=lambda: 1.0) as broker:
        seen: list[int] = []

        @broker.on("a", name="h")
        def handle(message: Received) -> None:
            seen.append(message.attempts)
            raise ValueError(f"attempt {message.attempts}")

        await broker.publish("a")
        await broker.settle()
        assert seen == [1]
        await broker.advance(9.9)
        assert seen == [1]
        await broker.advance(0.1)
        assert seen == [1, 2]
        await broker.advance(19.9)
        assert seen == [1, 2]
        await broker.advance(0.1)
        assert seen == [1, 2, 3]
        (dead,) = broker.queue.dead_letters("h")
        assert (dead.attempts, dead.reason, dead.last_error) == (3, "it failed 3 times", "ValueError: attempt 3")
        assert "the handler of h failed" in caplog.text


@in_loop
async def test_a_dead_letter_that_is_requeued_is_delivered_with_all_its_attempts_before_it() -> None:
    """As after the handler was mended."""
    async with MemoryBroker(max_attempts=1) as broker:
        seen: list[int] = []

        @broker.on("a", name="h")
        def handle(message: Received) -> None:
            seen.append(message.attempts)
            if len(seen) == 1:
                raise ValueError("broken")

        await broker.publish("a")
        await broker.settle()
        assert broker.queue.requeue(subscription="h") == 1
        await broker.settle()
        assert seen == [1, 1]
        assert broker.queue.dead_letters() == []


@in_loop
async def test_a_handler_may_say_when_it_wants_its_message_again_or_that_it_never_does() -> None:
    """``Nack`` and ``Reject``, which are no failures of the program."""
    async with MemoryBroker() as broker:
        seen: list[str] = []

        @broker.on("#", name="h")
        def handle(message: Received) -> None:
            seen.append(message.subject)
            if message.subject == "never":
                raise Reject("it makes no sense")
            if message.attempts == 1:
                raise Nack("too early", delay=100)

        await broker.publish("never")
        await broker.publish("later")
        await broker.settle()
        await broker.advance(99)
        assert seen == ["never", "later"]
        await broker.advance(1)
        assert seen == ["never", "later", "later"]
        (dead,) = broker.queue.dead_letters()
        assert (dead.reason, dead.last_error) == ("it cannot succeed", "it makes no sense")


@pytest.mark.parametrize("answer", [object(), {1, 2}, float("nan"), "\ud800", {"a": b"x"}])
def test_what_is_returned_and_cannot_be_an_answer_makes_a_dead_letter(answer: object) -> None:
    """At once, for it would be the same each time; and the error says why."""

    @in_loop
    async def run() -> None:
        async with MemoryBroker() as broker:
            broker.on("a", name="h")(lambda _: answer)
            await broker.publish("a")
            await broker.settle()
            (dead,) = broker.queue.dead_letters()
            assert dead.attempts == 1
            assert str(dead.last_error).startswith("what the handler returned cannot be an answer: ")

    run()


@pytest.mark.parametrize("error", [StopIteration("x"), SystemExit(3), KeyError("k"), asyncio.CancelledError()])
def test_whatever_a_plain_handler_raises_is_a_failure_of_that_delivery_only(error: BaseException) -> None:
    """Even what would end a program."""

    @in_loop
    async def run() -> None:
        async with MemoryBroker(max_attempts=1) as broker:

            @broker.on("a", name="h")
            def handle(_: Received) -> None:
                raise error

            await broker.publish("a")
            await broker.settle()
            (dead,) = broker.queue.dead_letters()
            assert type(error).__name__ in str(dead.last_error)

    run()


@in_loop
async def test_a_handler_whose_inner_task_is_cancelled_fails() -> None:
    """That is not the end of the broker, nor of the consumer."""
    async with MemoryBroker(max_attempts=2) as broker:
        seen: list[int] = []

        @broker.on("a", name="h")
        async def handle(message: Received) -> None:
            seen.append(message.attempts)
            inner = asyncio.create_task(asyncio.sleep(60))
            inner.cancel()
            await inner

        await broker.publish("a")
        await broker.settle()
        await broker.advance(3600)
        assert seen == [1, 2]
        (dead,) = broker.queue.dead_letters()
        assert dead.last_error == "RuntimeError: something that the handler waited for was cancelled"


@in_loop
async def test_an_answer_that_cannot_be_published_makes_a_dead_letter() -> None:
    """A reply-to that is no subject is not the handler's fault, but no attempt mends it."""
    async with MemoryBroker(RoutingTable.parse("dialect: nats")) as broker:
        broker.on("a", name="h")(lambda _: b"answer")
        await broker.publish("a", metadata={"reply-to": "no..subject"})
        await broker.settle()
        (dead,) = broker.queue.dead_letters()
        assert str(dead.last_error).startswith("what follows from it cannot be published: ")


@in_loop
async def test_a_store_that_fails_while_a_delivery_is_settled_leaves_it_to_its_lease(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes again; nothing hangs."""
    async with MemoryBroker(lease=30) as broker:
        seen: list[int] = []
        broker.on("a", name="h")(lambda message: seen.append(message.attempts))
        settler = broker.queue.store.settler
        with monkeypatch.context() as broken:

            def done(*_: object) -> None:
                raise StoreError("disk-full", "no room")

            broken.setattr(settler, "done", done)
            await broker.publish("a")
            await broker.settle()
        assert "could not be settled; its lease will run out" in caplog.text
        await broker.advance(30)
        assert seen == [1, 2]
        assert broker.queue.size().done == 1


@in_loop
async def test_a_done_message_that_is_retried_comes_again_to_all_that_had_it() -> None:
    """To destinations with their routes, and to subscriptions; and to nobody else."""
    table = RoutingTable.parse("""
dialect: amqp
destinations: {billing: {type: handler}, audit: {type: handler}, other: {type: handler}}
routes:
  - {name: paid, pattern: "orders.#", destinations: [billing, audit]}
  - {name: all, pattern: "#", destinations: [audit]}
""")
    async with MemoryBroker(table) as broker:
        seen: list[tuple[str, str]] = []
        for name in ("billing", "audit", "other"):
            broker.handler(name)(lambda message, name=name: seen.append((name, message.attempt.route)))
        broker.on("orders.*", name="on")(lambda message: seen.append(("on", message.attempt.route)))
        id = (await broker.publish("orders.new")).id
        await broker.settle()
        expected = [("audit", "all"), ("audit", "paid"), ("billing", "paid"), ("on", "")]
        assert sorted(seen, key=str) == expected
        for _ in range(2):
            seen.clear()
            assert broker.queue.retry(id)
            await broker.settle()
            assert sorted(seen, key=str) == expected
            assert broker.queue.status(id) == "done"


@in_loop
async def test_a_message_that_nobody_had_is_not_retried() -> None:
    """It would go to a line that no broker takes from."""
    async with MemoryBroker() as broker:
        id = (await broker.publish("orders.new")).id
        assert (broker.queue.status(id), broker.queue.retry(id)) == ("done", False)
