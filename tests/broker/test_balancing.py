"""Balanced routes: positions and counts are in the file, and what is in flight is known there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Nack, Received, Reject
from pointsman.broker.state import StoredState
from pointsman.routing.balance import BalanceState
from pointsman.table.state import Key
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop


def table(kind: str, extra: str = "", destinations: str = "[a, b, c]") -> RoutingTable:
    """One balanced route; ``b`` has a breaker with a fallback."""
    return RoutingTable.parse(
        f"""
destinations: {{a: {{}}, b: {{breaker: {{failures: 1, reset: 1h, fallback: spare}}}}, c: {{}}, spare: {{}}}}
routes: [{{name: work, pattern: "work.*", strategy: balanced, balance: {kind}, destinations: {destinations}{extra}}}]
"""
    )


def in_flight(broker: Broker) -> dict[str, int]:
    """What the file says is in flight."""
    found: Any = broker.queue.store.write(lambda each: StoredState(each).get(Key("balance", "work")))
    return dict(found.in_flight) if isinstance(found, BalanceState) else {}


@pytest.mark.parametrize(
    ("kind", "extra", "destinations", "expected"),
    [
        ("round-robin", "", "[a, b, c]", {"a": 10, "b": 10, "c": 10}),
        (
            "weighted",
            "",
            "[{name: a, weight: 5}, {name: b, weight: 3}, {name: c, weight: 2}]",
            {"a": 15, "b": 9, "c": 6},
        ),
        ("least-connections", "", "[a, b, c]", {"a": 10, "b": 10, "c": 10}),
    ],
)
def test_shares_are_kept_over_restarts(
    kind: str, extra: str, destinations: str, expected: dict[str, int], tmp_path: Path
) -> None:
    """A new broker for every five messages; nothing is taken meanwhile."""

    @in_loop
    async def run() -> None:
        for _ in range(6):
            async with Broker(tmp_path / "app.db", table(kind, extra, destinations)) as broker:
                for number in range(5):
                    assert (await broker.publish(f"work.{number}")).deliveries == 1
        async with Broker(tmp_path / "app.db", table(kind, extra, destinations)) as broker:
            assert {name: broker.queue.size(f"destination:{name}").ready for name in "abc"} == expected

    run()


@in_loop
async def test_sticky_messages_of_one_key_go_to_one_destination() -> None:
    """By the hash of the key."""
    async with MemoryBroker(table("sticky", ", key: \"metadata['customer']\"")) as broker:
        seen: Counter[tuple[str, str]] = Counter()
        for name in ("a", "b", "c"):
            broker.handler(name)(lambda message, name=name: seen.update([(message.metadata["customer"], name)]))
        for number in range(40):
            await broker.publish("work.x", metadata={"customer": str(number % 10)})
        await broker.settle()
        assert sorted(seen.values()) == [4] * 10
        assert len({name for _, name in seen}) > 1


@in_loop
async def test_random_shares_follow_the_chance_that_is_passed_in() -> None:
    """The same seed gives the same choices."""
    runs = []
    for seed in (1, 1, 2):
        async with MemoryBroker(table("random"), seed=seed) as broker:
            seen: list[str] = []
            for name in ("a", "b", "c"):
                broker.handler(name)(lambda _, name=name, seen=seen: seen.append(name))
            for _ in range(20):
                await broker.publish("work.x")
                await broker.settle()
            runs.append(seen)
    assert runs[0] == runs[1] != runs[2]


@in_loop
async def test_least_connections_counts_what_is_in_flight_until_it_is_over() -> None:
    """A destination that is slow gets less; one that is done gets more again."""
    async with MemoryBroker(table("least-connections")) as broker:
        kept: dict[str, list[Received]] = {"a": [], "b": [], "c": []}
        for name, held in kept.items():
            broker.handler(name, ack="manual", lease=1000)(held.append)
        for _ in range(6):
            await broker.publish("work.x")
        await broker.settle()
        assert in_flight(broker) == {"a": 2, "b": 2, "c": 2}
        for each in list(kept["b"]):
            assert await each.ack()
        assert in_flight(broker) == {"a": 2, "c": 2}
        for _ in range(2):
            await broker.publish("work.x")
        await broker.settle()
        assert len(kept["b"]) == 4


@pytest.mark.parametrize("way", ["rejected", "failed", "expired", "lease"])
def test_a_delivery_that_died_is_in_flight_no_more(way: str) -> None:
    """Whatever it died of."""

    @in_loop
    async def run() -> None:
        async with MemoryBroker(table("least-connections"), max_attempts=2, lease=10) as broker:

            @broker.handler("a", ack="manual" if way == "lease" else "auto")
            def handle(_: Received) -> None:
                if way == "rejected":
                    raise Reject("no")
                if way == "failed":
                    raise Nack("no", delay=0)

            await broker.publish("work.x", **({"delay": 5, "expires": 1} if way == "expired" else {}))
            assert in_flight(broker) == {"a": 1}
            for _ in range(4):
                await broker.advance(10)
            assert len(broker.queue.dead_letters()) == 1
            assert in_flight(broker) == {}

    run()


@in_loop
async def test_a_delivery_that_the_breaker_turns_away_stays_in_flight_until_the_fallback_has_it() -> None:
    """It is counted once, for the destination that it was chosen for."""
    async with MemoryBroker(table("least-connections", destinations="[b]")) as broker:
        kept: list[Received] = []
        broker.handler("spare", ack="manual", lease=1000)(kept.append)
        for _ in range(3):
            await broker.publish("work.x")

        @broker.handler("b")
        def broken(_: Received) -> None:
            raise Nack("no", delay=0)

        await broker.settle()
        assert (len(kept), in_flight(broker)) == (3, {"b": 3})
        for left, each in zip((2, 1, 0), kept, strict=True):
            assert await each.ack()
            assert in_flight(broker).get("b", 0) == left


@in_loop
async def test_a_delivery_given_back_at_shutdown_is_still_in_flight(tmp_path: Path) -> None:
    """For it will be made."""
    async with Broker(tmp_path / "app.db", table("least-connections")) as broker:
        await broker.publish("work.x")
    async with Broker(tmp_path / "app.db", table("least-connections")) as broker:
        assert in_flight(broker) == {"a": 1}
        done: list[str] = []
        broker.handler("a")(lambda message: done.append(message.subject))
        while in_flight(broker):
            await broker.publish("other")
        assert done == ["work.x"]
