"""The outbox: publishing in the caller's own transaction on the same file."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import apsw
import pytest

from pointsman import Broker, RoutingTable
from pointsman.errors import AccessError, InputError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until

TABLE = RoutingTable.parse(
    """
dialect: nats
destinations: {one: {}, two: {}}
routes: [{name: turns, pattern: "work.*", strategy: balanced, balance: round-robin, destinations: [one, two]}]
access: {shop: {publish: ["work.*"]}}
"""
)


@in_loop
async def test_what_is_published_in_a_transaction_is_there_together_with_the_rest_of_it(tmp_path: Path) -> None:
    """Rows of the caller's tables and messages, or neither; the six stages are run as ever."""
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        seen: list[str] = []
        for name in ("one", "two"):
            broker.handler(name)(lambda message, name=name: seen.append(f"{name} {message.body.decode()}"))
        with broker.transaction() as outbox:
            outbox.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)")
        with broker.transaction() as outbox:
            outbox.execute("INSERT INTO orders (what) VALUES (?)", ("laptop",))
            assert outbox.publish("work.a", "first").deliveries == 1
            assert outbox.publish(["work", "b"], "second", correlation_id="c").deliveries == 1
        await until(lambda: len(seen) == 2)
        assert sorted(seen) == ["one first", "two second"]

        def fail() -> None:
            with broker.transaction() as outbox:
                outbox.execute("INSERT INTO orders (what) VALUES (?)", ("book",))
                outbox.publish("work.c", "third")
                raise KeyError("changed my mind")

        with pytest.raises(KeyError):
            fail()
        await broker.publish("work.d", "fourth")
        await until(lambda: len(seen) == 3)
        assert seen[2] == "one fourth"
        with broker.queue.store.read() as connection:
            assert list(connection.execute("SELECT what FROM orders")) == [("laptop",)]


@in_loop
async def test_one_message_of_a_transaction_may_be_refused_and_the_rest_go_on() -> None:
    """What is refused leaves nothing; the caller decides about the others."""
    async with MemoryBroker(TABLE) as broker:
        with broker.transaction() as outbox:
            outbox.publish("work.a", principal="shop")
            with pytest.raises(AccessError):
                outbox.publish("other", principal="shop")
            outbox.publish("work.b", principal="shop")
        assert [each.routing_key for each in broker.queue.messages()] == ["work.a", "work.b"]


@in_loop
async def test_a_connection_of_the_callers_own_may_publish_too(tmp_path: Path) -> None:
    """apsw's, on the same file; handlers are woken when it says so."""
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        seen: list[bytes] = []
        broker.handler("one")(lambda message: seen.append(message.body))

        def work(body: str, *, commit: bool) -> None:
            connection = apsw.Connection(str(tmp_path / "app.db"))
            connection.set_busy_timeout(10_000)
            connection.execute("BEGIN IMMEDIATE")
            outbox = broker.outbox(connection)
            outbox.publish("work.a", body)
            connection.execute("COMMIT" if commit else "ROLLBACK")
            outbox.wake()
            connection.close()

        await asyncio.to_thread(work, "no", commit=False)
        await asyncio.to_thread(work, "yes", commit=True)
        await until(lambda: bool(seen))
        assert seen == [b"yes"]


@in_loop
async def test_a_connection_that_would_lose_messages_is_refused(tmp_path: Path) -> None:
    """Python's own sqlite3, and one on another file."""
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        connection = sqlite3.connect(tmp_path / "app.db")
        other = apsw.Connection(str(tmp_path / "other.db"))
        for wrong in (connection, other):
            with pytest.raises(InputError) as caught:
                broker.outbox(wrong)
            assert caught.value.code == "bad-connection"
        connection.close()
        other.close()
