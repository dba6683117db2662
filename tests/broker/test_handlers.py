"""Handlers: functions that get messages, one subscription each."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from pointsman import Broker, RoutingTable
from pointsman.broker.deliver import Nack, Received
from pointsman.errors import InputError, PatternError, StoreError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


@in_loop
async def test_a_handler_gets_what_its_pattern_matches_and_nothing_else() -> None:
    """The pattern of the issue, with ``#`` at its end."""
    async with MemoryBroker() as broker:
        seen: list[str] = []

        @broker.on("orders.*.laptops.#")
        async def laptops(message: Received) -> None:
            seen.append(message.subject)

        for subject in ("orders.eu.laptops", "orders.eu.laptops.used.old", "orders.laptops", "orders.eu.books"):
            await broker.publish(subject)
        await broker.settle()
        assert seen == ["orders.eu.laptops", "orders.eu.laptops.used.old"]
        assert laptops.__qualname__.endswith("laptops")


@in_loop
async def test_a_handler_may_be_plain_a_coroutine_a_method_or_a_partial() -> None:
    """A plain one runs in a thread of its own, a coroutine in the event loop."""
    seen: dict[str, bool] = {}
    here = threading.get_ident()

    def plain(_: Received) -> None:
        seen["plain"] = threading.get_ident() != here

    async def coroutine(_: Received) -> None:
        seen["coroutine"] = threading.get_ident() == here

    class Service:
        async def method(self, _: Received) -> None:
            seen["method"] = threading.get_ident() == here

        async def __call__(self, _: Received) -> None:
            seen["call"] = threading.get_ident() == here

    async def two(name: str, _: Received) -> None:
        seen[name] = threading.get_ident() == here

    async with MemoryBroker() as broker:
        for number, handler in enumerate(
            [plain, coroutine, Service().method, Service(), partial(two, "partial"), lambda each: two("lambda", each)]
        ):
            broker.on("a", name=f"h{number}")(handler)
        await broker.publish("a")
        await broker.settle()
    assert seen == dict.fromkeys(["plain", "coroutine", "method", "call", "partial", "lambda"], True)


@in_loop
async def test_every_handler_gets_a_copy_of_its_own() -> None:
    """One that fails concerns no other."""
    async with MemoryBroker(max_attempts=1) as broker:
        seen: list[str] = []

        @broker.on("a", name="bad")
        def bad(_: Received) -> None:
            raise RuntimeError("broken")

        broker.on("a", name="one")(lambda _: seen.append("one"))
        broker.on("#", name="two")(lambda _: seen.append("two"))
        await broker.publish("a")
        await broker.settle()
        assert sorted(seen) == ["one", "two"]
        assert [dead.subscription for dead in broker.queue.dead_letters()] == ["bad"]


@in_loop
async def test_a_subscription_gathers_messages_while_no_process_is_there(tmp_path: Path) -> None:
    """It is durable from the first time that its handler is there."""
    seen: list[str] = []
    async with Broker(tmp_path / "app.db") as broker:
        await broker.publish("too.early")
        broker.on("#", name="later")(lambda message: seen.append(message.subject))
    async with Broker(tmp_path / "app.db") as broker:
        await broker.publish("meanwhile")
    broker = Broker(tmp_path / "app.db")
    broker.on("#", name="later")(lambda message: seen.append(message.subject))
    async with broker:
        await until(lambda: bool(seen))
    assert seen == ["meanwhile"]


@in_loop
async def test_two_handlers_of_one_name_are_refused() -> None:
    """Before the broker is open and while it is; the first one stays."""
    table = RoutingTable.parse("{routes: [{name: r, pattern: a, destinations: [d]}], destinations: {d: {}}}")
    broker = MemoryBroker(table)
    seen: list[str] = []
    broker.on("x", name="same")(lambda _: seen.append("first"))
    broker.handler("d")(lambda _: seen.append("d"))
    for _ in range(2):
        with pytest.raises(InputError, match="'same' has a handler already") as caught:
            broker.on("y", name="same")(lambda _: seen.append("second"))
        assert caught.value.code == "bad-setting"
        with pytest.raises(InputError, match="'d' has a handler already"):
            broker.handler("d")(lambda _: seen.append("second"))
        async with broker:
            await broker.publish("x")
            await broker.publish("a")
            await broker.settle()
            with pytest.raises(InputError, match="has a handler already"):
                broker.on("y", name="same")(print)
    assert seen == ["first", "d"] * 2


@in_loop
async def test_a_handler_that_cannot_be_is_refused_and_forgotten() -> None:
    """So that it can be given again, as it should be."""
    async with MemoryBroker() as broker:
        broker.on("a", name="taken")(print)
        await broker.publish("b")
        with pytest.raises(PatternError):
            broker.on("a" * 300, name="h")(print)
        for wrong in ({"concurrency": 0}, {"lease": 0}, {"max_attempts": 0}):
            with pytest.raises(InputError):
                broker.on("a", name="h", **wrong)(print)
        with pytest.raises(StoreError) as caught:
            broker.handler("nowhere")(print)
        assert caught.value.code == "no-destination"
        broker.on("a", name="h")(print)


@in_loop
async def test_a_name_that_has_another_pattern_in_the_file_is_refused(tmp_path: Path) -> None:
    """When the broker is opened, which is then closed again, and while it runs."""
    async with Broker(tmp_path / "app.db") as broker:
        broker.on("a", name="h")(print)
    broker = Broker(tmp_path / "app.db")
    broker.on("b", name="h")(print)
    with pytest.raises(StoreError) as caught:
        async with broker:
            raise AssertionError("opened")
    assert caught.value.code == "subscription-differs"
    async with Broker(tmp_path / "app.db") as broker:
        with pytest.raises(StoreError):
            broker.on("b", name="h")(print)
        broker.on("a", name="h")(print)


@in_loop
async def test_what_a_handler_is_given_anew_holds_from_then_on(tmp_path: Path) -> None:
    """The number of attempts may be changed in the program; the file does not keep the old one."""
    for attempts in (1, 3, 2):
        tried: list[int] = []

        async def fail(message: Received, tried: list[int] = tried) -> None:
            tried.append(message.attempts)
            raise Nack("no", delay=0)

        async with Broker(tmp_path / "app.db") as broker:
            broker.on("#", name="h", max_attempts=attempts)(fail)
            await broker.publish("a")
            await until(lambda attempts=attempts, tried=tried: len(tried) == attempts)
        assert tried == list(range(1, attempts + 1))
