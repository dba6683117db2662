"""Publishing: six stages in order, one transaction, and what may be given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pointsman import Broker, Queue, RoutingTable
from pointsman.errors import AccessError, MessageError, StoreError, SubjectError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until

TABLE = RoutingTable.parse(
    """
dialect: nats
destinations: {large: {}, small: {}, archive: {}, one: {}, two: {}}
translations: [{name: versions, from: "v1.>", to: "orders.>"}]
routes:
  - {name: everything, pattern: ">", destinations: [archive]}
  - {name: large, pattern: "orders.>", strategy: content, when: body.amount > 100, destinations: [large]}
  - {name: small, pattern: "orders.>", strategy: content, when: body.amount <= 100, destinations: [small]}
  - {name: turns, pattern: "turns.*", strategy: balanced, balance: round-robin, destinations: [one, two]}
access:
  shop: {publish: ["v1.>"], subscribe: [">"]}
"""
)


def collecting(broker: Broker, *destinations: str) -> list[tuple[str, str]]:
    """Handlers of destinations that note their name and the subject of each message."""
    seen: list[tuple[str, str]] = []
    for name in destinations:

        async def note(message: Any, name: str = name) -> None:
            seen.append((name, message.subject))

        broker.handler(name)(note)
    return seen


@in_loop
async def test_a_message_passes_the_six_stages_in_order() -> None:
    """Authorized under the subject it was sent under, then translated, resolved, selected by content and delivered."""
    async with MemoryBroker(TABLE) as broker:
        seen = collecting(broker, "archive", "large", "small")
        published = await broker.publish("v1.new", {"amount": 150}, principal="shop")
        await broker.settle()
        assert (published.subject, published.deliveries) == ("orders.new", 2)
        assert sorted(seen) == [("archive", "orders.new"), ("large", "orders.new")]
        with pytest.raises(AccessError) as caught:
            await broker.publish("orders.new", {"amount": 150}, principal="shop")
        assert caught.value.code == "publish-refused"


@in_loop
async def test_subscriptions_get_the_subject_after_translation() -> None:
    """A durable subscription is matched as the routes are."""
    async with MemoryBroker(TABLE) as broker:
        async with broker.subscribe("orders.*") as orders, broker.subscribe("v1.*", name="old"):
            published = await broker.publish("v1.new", {"amount": 1})
            assert (await anext(orders)).subject == "orders.new"
            assert published.deliveries == 3
        assert broker.queue.size("old").ready == 0


@in_loop
async def test_a_message_that_is_refused_leaves_nothing() -> None:
    """No message, no delivery, and no state that was moved on."""
    async with MemoryBroker(TABLE) as broker:
        before = broker.queue.size()
        with pytest.raises(AccessError):
            await broker.publish("turns.x", principal="shop")
        with pytest.raises(AccessError):
            await broker.publish("v1.x", principal="nobody")
        assert broker.queue.size() == before
        assert list(broker.queue.messages()) == []


@in_loop
async def test_state_and_deliveries_are_written_together_or_not_at_all() -> None:
    """A publish that fails at its end does not use up a turn."""
    async with MemoryBroker(TABLE, maxsize=1) as broker:
        await broker.publish("turns.a")
        for _ in range(3):
            with pytest.raises(StoreError) as caught:
                await broker.publish("turns.b")
            assert caught.value.code == "queue-full"
        seen = collecting(broker, "one", "two", "archive")
        await broker.settle()
        await broker.publish("turns.c")
        await broker.settle()
        assert [each for each in seen if each[0] != "archive"] == [("one", "turns.a"), ("two", "turns.c")]


@in_loop
async def test_publish_returns_when_the_message_is_on_disk(tmp_path: Path) -> None:
    """Another connection to the file sees it at once."""
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        published = await broker.publish("orders.new", {"amount": 5}, metadata={"region": "EU"})
        with Queue(tmp_path / "app.db", dialect=None) as other:
            stored = other.get(published.id)
            assert stored is not None
            assert (stored.routing_key, stored.body, stored.metadata) == (
                "orders.new",
                b'{"amount":5}',
                {"region": "EU"},
            )
            assert other.size("destination:small").ready == 1


@in_loop
async def test_publishes_at_a_time_share_a_transaction(tmp_path: Path) -> None:
    """And each of them still fails by itself."""
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        with broker.queue.store.read() as connection:
            before = next(iter(connection.execute("SELECT commits FROM control")))[0]
        subjects = ["orders.a", "not..valid", *(f"orders.{number}" for number in range(50))]
        outcomes = await asyncio.gather(*(broker.publish(each) for each in subjects), return_exceptions=True)
        with broker.queue.store.read() as connection:
            after = next(iter(connection.execute("SELECT commits FROM control")))[0]
        assert isinstance(outcomes[1], SubjectError)
        assert [each for each in outcomes if isinstance(each, BaseException)] == [outcomes[1]]
        assert after - before < 10


@in_loop
async def test_the_same_id_within_the_window_is_published_once() -> None:
    """The second time nothing is decided or written; after the window it is a message of its own."""
    async with MemoryBroker(TABLE, dedupe=60) as broker:
        seen = collecting(broker, "one", "two", "archive")
        first = await broker.publish("turns.a", id="m")
        second = await broker.publish("turns.a", id="m")
        await broker.settle()
        assert (first.duplicate, first.deliveries) == (False, 2)
        assert (second.duplicate, second.deliveries) == (True, 0)
        await broker.advance(61)
        assert not (await broker.publish("turns.a", id="m")).duplicate
        await broker.settle()
        assert sorted(seen) == [("archive", "turns.a"), ("archive", "turns.a"), ("one", "turns.a"), ("two", "turns.a")]


@in_loop
async def test_what_nobody_gets_is_finished_at_once_unless_the_queue_itself_keeps_it() -> None:
    """``main="unclaimed"`` keeps it for ``pop``."""
    async with MemoryBroker() as broker:
        assert (await broker.publish("a")).deliveries == 0
        assert broker.queue.size().done == 1
    async with MemoryBroker(main="unclaimed") as broker:
        assert (await broker.publish("a")).deliveries == 1
        popped = broker.queue.pop()
        assert popped is not None
        assert popped.routing_key == "a"


@in_loop
async def test_a_subject_or_a_message_that_cannot_be_is_refused_with_the_projects_errors() -> None:
    """And nothing is left of it; also when the table has no routes at all."""
    for table in (TABLE, RoutingTable.parse("dialect: nats")):
        async with MemoryBroker(table, max_bytes=10) as broker:
            for subject in ("", "a..b", "a b", "a\0b"):
                with pytest.raises(SubjectError):
                    await broker.publish(subject)
            with pytest.raises(StoreError) as caught:
                await broker.publish("a", b"12345678901")
            assert caught.value.code == "too-large"
            with pytest.raises(MessageError):
                await broker.publish("a", {"a": {1, 2}})
            with pytest.raises(MessageError):
                await broker.publish("a", "\ud800")
            with pytest.raises(MessageError):
                await broker.publish("a", priority=11)
            with pytest.raises(MessageError):
                await broker.publish("a", delay=-1)
            with pytest.raises(MessageError):
                await broker.publish("a", id="x" * 256)
            assert list(broker.queue.messages()) == []


@in_loop
async def test_the_queue_may_be_full_for_a_time() -> None:
    """``queue-full`` leaves nothing; once something is done there is room again."""
    async with MemoryBroker(maxsize=2) as broker:
        subscription = broker.subscribe("#", name="s")
        await broker.publish("a")
        await broker.publish("b")
        with pytest.raises(StoreError) as caught:
            await broker.publish("c")
        assert caught.value.code == "queue-full"
        async with subscription:
            await anext(subscription)
            assert (await anext(subscription)).subject == "b"
            assert (await broker.publish("c")).deliveries == 1


def test_a_broker_that_is_not_open_says_so() -> None:
    """Before, and after."""

    @in_loop
    async def run() -> None:
        broker = MemoryBroker()
        for _ in range(2):
            for call in (lambda: broker.publish("a"), lambda: broker.request("a")):
                with pytest.raises(StoreError) as caught:
                    await call()
                assert caught.value.code == "store-closed"
            with pytest.raises(StoreError):
                broker.subscribe("a")
            async with broker:
                with pytest.raises(ValueError, match="open already"):
                    await broker.__aenter__()

    run()


@in_loop
async def test_a_broker_may_be_opened_again(tmp_path: Path) -> None:
    """With the same handlers; what was left is delivered then."""
    seen: list[str] = []
    broker = Broker(tmp_path / "app.db", grace=5)
    broker.on("#", name="all")(lambda message: seen.append(message.subject))
    for number in range(3):
        async with broker:
            await broker.publish(f"a.{number}")
    async with broker:
        await until(lambda: len(seen) == 3)
    assert seen == ["a.0", "a.1", "a.2"]


@in_loop
async def test_what_is_published_after_the_file_was_deleted_is_refused(tmp_path: Path) -> None:
    """Nobody would ever find it."""
    async with Broker(tmp_path / "app.db") as broker:
        await broker.publish("orders.new", b"1")
        (tmp_path / "app.db").unlink()
        with pytest.raises(StoreError, match="store-moved"):
            await broker.publish("orders.new", b"2")
    assert not (tmp_path / "app.db").exists()
