"""Circuit breakers of destinations: fallbacks, probes, and what happens without a fallback."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Nack, Received
from pointsman.broker.state import StoredState
from pointsman.routing.breaker import BreakerState
from pointsman.store.settle import Backoff
from pointsman.table.state import Key
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop

QUICKLY = Backoff(1, 1, 1)


def table(fallback: str = ", fallback: parking") -> RoutingTable:
    """A warehouse behind a breaker that opens after two failures."""
    return RoutingTable.parse(
        f"""
dialect: nats
destinations: {{warehouse: {{breaker: {{failures: 2, reset: 30s, probe: 10s{fallback}}}}}, parking: {{}}}}
routes: [{{name: stock, pattern: "orders.*", destinations: [warehouse]}}]
"""
    )


class Warehouse:
    """A handler that can be broken and mended."""

    def __init__(self, broker: Broker) -> None:
        self.broken = True
        self.tried: list[str] = []
        self.parked: list[tuple[str, int]] = []

        @broker.handler("warehouse")
        def warehouse(message: Received) -> None:
            self.tried.append(message.subject)
            if self.broken:
                raise RuntimeError("no")

        @broker.handler("parking")
        def parking(message: Received) -> None:
            self.parked.append((message.subject, message.attempts))


def phase(broker: Broker) -> str:
    """Of the warehouse's breaker, as the file says."""
    found: Any = broker.queue.store.write(lambda each: StoredState(each).get(Key("breaker", "warehouse")))
    return found.phase.value if isinstance(found, BreakerState) else "closed"


@in_loop
async def test_a_breaker_opens_at_its_threshold_and_what_comes_then_goes_to_the_fallback() -> None:
    """What waited for another attempt too, and with all its attempts before it."""
    async with MemoryBroker(table(), backoff=QUICKLY, random=lambda: 1.0) as broker:
        warehouse = Warehouse(broker)
        await broker.publish("orders.1")
        await broker.settle()
        assert phase(broker) == "closed"
        await broker.advance(1)
        assert (phase(broker), warehouse.tried) == ("open", ["orders.1"] * 2)
        await broker.publish("orders.2")
        await broker.settle()
        assert warehouse.parked == [("orders.2", 1)]
        await broker.advance(1)
        assert warehouse.parked == [("orders.2", 1), ("orders.1", 1)]
        assert len(warehouse.tried) == 2
        assert broker.queue.size().done == 2


@in_loop
async def test_what_was_decided_before_the_breaker_opened_is_asked_about_again() -> None:
    """A permit of that time lets nothing through."""
    async with MemoryBroker(table()) as broker:
        with broker.transaction() as outbox:
            for number in range(5):
                outbox.publish(f"orders.{number}")
        warehouse = Warehouse(broker)
        await broker.settle()
        assert warehouse.tried == ["orders.0", "orders.1"]
        assert [subject for subject, _ in warehouse.parked] == ["orders.2", "orders.3", "orders.4"]


@in_loop
async def test_after_the_reset_time_one_probe_is_made_and_closes_the_breaker() -> None:
    """While it is under way, the others go to the fallback."""
    async with MemoryBroker(table(), backoff=QUICKLY, random=lambda: 1.0) as broker:
        warehouse = Warehouse(broker)
        await broker.publish("orders.1")
        await broker.settle()
        await broker.advance(1)
        await broker.advance(1)
        assert phase(broker) == "open"
        warehouse.broken = False
        await broker.advance(30)
        with broker.transaction() as outbox:
            for number in (2, 3, 4):
                outbox.publish(f"orders.{number}")
        await broker.settle()
        assert phase(broker) == "closed"
        assert warehouse.tried[2:] == ["orders.2"]
        assert sorted(warehouse.parked) == [("orders.1", 1), ("orders.3", 1), ("orders.4", 1)]
        await broker.publish("orders.5")
        await broker.settle()
        assert warehouse.tried[3:] == ["orders.5"]


@in_loop
async def test_a_probe_that_fails_opens_the_breaker_for_another_reset_time() -> None:
    """And its message goes to the fallback when it is tried again."""
    async with MemoryBroker(table(), backoff=QUICKLY, random=lambda: 1.0) as broker:
        warehouse = Warehouse(broker)
        await broker.publish("orders.1")
        await broker.settle()
        await broker.advance(1)
        await broker.advance(1)
        await broker.advance(30)
        await broker.publish("orders.2")
        await broker.settle()
        assert (phase(broker), warehouse.tried[2:]) == ("open", ["orders.2"])
        await broker.advance(1)
        assert warehouse.parked == [("orders.1", 1), ("orders.2", 1)]


@in_loop
async def test_without_a_fallback_deliveries_wait_until_the_breaker_lets_them_through() -> None:
    """The wait counts as no attempt, however often the breaker opens again; nothing is lost."""
    async with MemoryBroker(table(fallback=""), backoff=QUICKLY, random=lambda: 1.0, max_attempts=4) as broker:
        warehouse = Warehouse(broker)
        for number in range(3):
            await broker.publish(f"orders.{number}")
        await broker.settle()
        assert phase(broker) == "open"
        tried = len(warehouse.tried)
        await broker.advance(29)
        assert len(warehouse.tried) == tried
        warehouse.broken = False
        for _ in range(20):
            await broker.advance(10)
        assert phase(broker) == "closed"
        assert sorted(warehouse.tried[tried:]) == ["orders.0", "orders.1", "orders.2"]
        assert broker.queue.dead_letters() == []
        assert broker.queue.size().done == 3


@in_loop
async def test_a_breaker_is_open_also_after_a_restart(tmp_path: Path) -> None:
    """Its state is in the file."""
    async with Broker(tmp_path / "app.db", table(), max_attempts=1) as broker:
        warehouse = Warehouse(broker)
        for number in range(2):
            await broker.publish(f"orders.{number}")
        while phase(broker) != "open":
            await broker.publish("other")
    async with Broker(tmp_path / "app.db", table()) as broker:
        again = Warehouse(broker)
        await broker.publish("orders.9")
        while not again.parked:
            await broker.publish("other")
        assert again.tried == []
    assert len(warehouse.tried) == 2


@in_loop
async def test_a_message_given_back_at_shutdown_is_no_failure_of_the_destination() -> None:
    """Only what was tried to its end is told to the breaker."""
    async with MemoryBroker(table(), grace=0.01) as broker:
        started = asyncio.Event()

        @broker.handler("warehouse", concurrency=5)
        async def slow(_: Received) -> None:
            started.set()
            await asyncio.sleep(3600)

        for number in range(5):
            await broker.publish(f"orders.{number}")
        await started.wait()
        while broker.queue.size("destination:warehouse").leased < 5:
            await asyncio.sleep(0.001)
        await broker._runtime.dispatcher.stop(0.01)
        assert phase(broker) == "closed"
        assert broker.queue.size("destination:warehouse").ready == 5


@in_loop
async def test_the_fallback_of_a_fallback_is_taken_too() -> None:
    """A chain of two breakers; an answer counts for the destination that was asked."""
    chained = RoutingTable.parse(
        """
dialect: nats
destinations:
  first: {breaker: {failures: 1, reset: 1h, fallback: second}}
  second: {breaker: {failures: 1, reset: 1h, fallback: third}}
  third: {}
routes:
  - {name: ask, pattern: ask, strategy: scatter-gather, gather: {timeout: 1h}, destinations: [first]}
"""
    )
    async with MemoryBroker(chained, backoff=QUICKLY) as broker:
        for name in ("first", "second"):

            @broker.handler(name)
            def broken(_: Received) -> None:
                raise Nack("no", delay=0)

        broker.handler("third")(lambda _: {"by": "third"})
        reply = await broker.request("ask", timeout=3600)
        assert b'"answers": [["first", {"by": "third"}]]' in reply.body
