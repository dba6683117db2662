"""Wildcard subscriptions in the broker: delivered to destinations, once for each owner who may read the message."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pointsman import Broker, RoutingTable
from pointsman.conditions import Matcher
from pointsman.destinations.base import Delivered
from pointsman.destinations.http import LONGEST_LIST, headers_of
from pointsman.errors import AccessError, InputError, StoreError
from pointsman.message import Message
from pointsman.patterns.pattern import Pattern
from pointsman.store.queue import Queue
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.registry import Registry
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until

TABLE = RoutingTable.parse(
    """
dialect: nats
destinations: {desk: {}, archive: {}, backup: {}}
routes: [{name: all, pattern: ">", strategy: pattern, destinations: [archive]}]
translations: [{from: "shop.*", to: "orders.$1"}]
"""
)
EU = Matcher("region", "EU")


def made(id: str, **changes: Any) -> WildcardSubscription:
    """A subscription of this id."""
    fields = {"owner": "ada", "destinations": ("desk",), "condition": EU}
    return WildcardSubscription(id, **(fields | changes))


def recorded(broker: Broker, *destinations: str) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """What handlers of these destinations get: where, what, by what, and which subscriptions matched."""
    seen: list[tuple[str, str, str, tuple[str, ...]]] = []
    for name in destinations:
        broker.handler(name)(
            lambda got, name=name: seen.append((name, got.subject, got.attempt.route, got.subscriptions))
        )
    return seen


@in_loop
async def test_a_message_goes_to_the_destinations_of_a_subscription_besides_those_of_the_routes() -> None:
    """By the subject that it has after translation; what does not match does not go there."""
    async with MemoryBroker(TABLE) as broker:
        seen = recorded(broker, "desk", "archive")
        number = await broker.subscriptions.create(
            id="eu",
            owner="ada",
            destinations=["desk"],
            pattern="orders.>",
            condition={"key": "region", "pattern": "E?"},
        )
        published = await broker.publish("shop.new", metadata={"region": "EU"})
        assert (number, published.deliveries) == (1, 2)
        await broker.publish("orders.new", metadata={"region": "US"})
        await broker.publish("plant.new", metadata={"region": "EU"})
        await broker.settle()
        assert [each for each in seen if each[0] == "desk"] == [("desk", "orders.new", "subscriptions:ada", ("eu",))]
        assert sum(each[0] == "archive" for each in seen) == 3
        assert broker.queue.size().ready == 0


@in_loop
async def test_overlapping_subscriptions_of_one_owner_to_one_destination_deliver_once() -> None:
    """And say which matched; another owner gets its own, and so does another destination."""
    async with MemoryBroker(TABLE) as broker:
        seen = recorded(broker, "desk", "backup")
        broker.handler("archive")(lambda _: None)
        for subscription in (
            made("one"),
            made("two", condition=Matcher(None, "E*")),
            made("three", destinations=("desk", "backup")),
            made("other", owner="bob"),
        ):
            await broker.subscriptions.create(subscription)
        assert (await broker.publish("a", metadata={"region": "EU"})).deliveries == 4
        await broker.settle()
        assert sorted(seen) == [
            ("backup", "a", "subscriptions:ada", ("three",)),
            ("desk", "a", "subscriptions:ada", ("one", "two", "three")),
            ("desk", "a", "subscriptions:bob", ("other",)),
        ]


@in_loop
async def test_every_change_takes_effect_on_the_next_message() -> None:
    """Created, changed, disabled, enabled, expired, deleted."""
    async with MemoryBroker(TABLE) as broker:
        seen = recorded(broker, "desk")
        broker.handler("archive")(lambda _: None)

        async def comes(region: str = "EU") -> bool:
            before = len(seen)
            await broker.publish("a", metadata={"region": region})
            await broker.settle()
            return len(seen) > before

        assert not await comes()
        await broker.subscriptions.create(made("one"))
        assert await comes()
        await broker.subscriptions.update(made("one", condition=Matcher("region", "US")))
        assert (await comes(), await comes("US")) == (False, True)
        await broker.subscriptions.enable("one", False)
        assert not await comes("US")
        await broker.subscriptions.enable("one")
        assert await comes("US")
        await broker.subscriptions.update(made("one", expires=broker.clock.now + 60))
        assert await comes()
        await broker.advance(60)
        assert not await comes()
        await broker.subscriptions.update(made("one"))
        assert await comes()
        assert await broker.subscriptions.delete("one")
        assert not await comes()
        assert not await broker.subscriptions.delete("one")


@in_loop
async def test_a_change_by_another_process_takes_effect_on_the_next_message(tmp_path: Path) -> None:
    """Created there, and deleted there."""
    file = tmp_path / "app.db"
    script = (
        "import sys; from pointsman.store.queue import Queue; from pointsman.subscriptions.registry import Registry;"
        "from pointsman.subscriptions.model import WildcardSubscription; from pointsman.conditions import Matcher\n"
        "with Queue(sys.argv[1]) as queue:\n"
        "    registry = Registry(queue.store)\n"
        "    new = WildcardSubscription('one', 'ada', ('desk',), None, Matcher('region', 'EU'))\n"
        "    registry.create(new) if sys.argv[2] == 'create' else registry.delete('one')\n"
    )

    async def run(what: str) -> None:
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script, str(file), what], check=True)

    async with Broker(file, TABLE) as broker:
        seen = recorded(broker, "desk")
        counts = []
        for what in ("create", "delete"):
            counts.append((await broker.publish("a", metadata={"region": "EU"})).deliveries)
            await run(what)
        counts.append((await broker.publish("a", metadata={"region": "EU"})).deliveries)
        assert counts == [1, 2, 1]
        await until(lambda: len(seen) == 1)


@in_loop
async def test_a_subscription_gets_what_its_owner_may_read_and_no_more(caplog: pytest.LogCaptureFixture) -> None:
    """Narrowed by the owner's rules, message by message; refused if nothing is left of it."""
    table = RoutingTable.parse(
        """
dialect: nats
destinations: {desk: {}}
access:
  ada: {subscribe: ["orders.>"], deny: {subscribe: [orders.secret]}}
  bob: {publish: ["orders.>"]}
"""
    )
    async with MemoryBroker(table) as broker:
        seen = recorded(broker, "desk")
        with caplog.at_level(logging.INFO, "pointsman.broker"):
            await broker.subscriptions.create(made("some", pattern=Pattern(">")))
        assert "narrowed to 'orders.>', without what 'orders.secret' matches" in caplog.text
        await broker.subscriptions.create(made("any dialect", pattern=Pattern("#.secret", "amqp")))
        for subject in ("orders.new", "orders.secret", "plant.new"):
            await broker.publish(subject, metadata={"region": "EU"})
        await broker.settle()
        assert seen == [("desk", "orders.new", "subscriptions:ada", ("some",))]
        for refused in (made("a", pattern=Pattern("plant.>")), made("b", owner="bob"), made("c", owner="nobody")):
            with pytest.raises(AccessError) as caught:
                await broker.subscriptions.create(refused)
            assert caught.value.code == "subscribe-refused"
        assert await broker.subscriptions.count() == 2


@in_loop
async def test_a_destination_that_the_table_has_not_is_refused() -> None:
    """When a subscription is made or changed; and nothing is stored."""
    async with MemoryBroker(TABLE) as broker:
        await broker.subscriptions.create(made("one"))
        for call in (broker.subscriptions.create, broker.subscriptions.update):
            with pytest.raises(StoreError) as caught:
                await call(made("one", destinations=("desk", "nowhere")))
            assert caught.value.code == "no-destination"
        found = await broker.subscriptions.get("one")
        assert found is not None
        assert found.subscription == made("one")


@pytest.mark.parametrize("delay", [None, 60.0])
def test_a_destination_that_went_away_gives_a_dead_letter(delay: float | None) -> None:
    """At once, with its reason; the other deliveries of the message are made."""

    @in_loop
    async def run() -> None:
        async with MemoryBroker(TABLE) as broker:
            seen = recorded(broker, "desk", "archive")
            Registry(broker.queue.store).create(made("one", destinations=("desk", "nowhere")))
            await broker.publish("a", metadata={"region": "EU"}, delay=delay)
            await broker.advance(100)
            assert sorted(each[0] for each in seen) == ["archive", "desk"]
            (letter,) = broker.queue.dead_letters()
            assert (letter.subscription, letter.route) == ("destination:nowhere", "subscriptions:ada")
            assert letter.reason == "the table has no destination 'nowhere'"
            assert broker.queue.unfinished == 0

    run()


@in_loop
async def test_a_message_that_only_goes_nowhere_is_finished() -> None:
    """One dead letter, and nothing open."""
    async with MemoryBroker(RoutingTable.parse("dialect: nats\n")) as broker:
        Registry(broker.queue.store).create(made("one", destinations=("nowhere",)))
        assert (await broker.publish("a", metadata={"region": "EU"})).deliveries == 1
        assert len(broker.queue.dead_letters()) == 1
        assert broker.queue.unfinished == 0


@in_loop
async def test_the_subscriptions_of_a_broker_are_listed_in_pages() -> None:
    """All, those of an owner, those of a matcher, and the changes."""
    async with MemoryBroker(TABLE) as broker:
        of = broker.subscriptions
        for id in "abc":
            await of.create(made(id, owner="ada" if id < "c" else "bob"))
        page = await of.list(limit=2)
        assert [each.subscription.id for each in page] == ["a", "b"]
        assert [each.subscription.id for each in await of.list(after=page[-1].number)] == ["c"]
        assert [each.subscription.id for each in await of.by_owner("bob")] == ["c"]
        assert len(await of.by_matcher(EU)) == 3
        assert [each.kind for each in await of.changes(after=1)] == ["created", "created"]
        assert await of.get("nobody") is None


def test_a_route_may_not_have_a_name_that_deliveries_to_subscriptions_have() -> None:
    """One message would have two deliveries of one name."""
    table = RoutingTable.parse(
        "dialect: nats\ndestinations: {d: {}}\n"
        'routes: [{name: "subscriptions:ada", pattern: a, strategy: pattern, destinations: [d]}]\n'
    )

    with pytest.raises(InputError, match="needs another name"):
        MemoryBroker(table)


@in_loop
async def test_destinations_without_a_handler_say_which_subscriptions_matched(tmp_path: Path) -> None:
    """A file has them as fields, a queue in its metadata."""
    table = RoutingTable.parse(
        """
dialect: nats
destinations:
  lines: {type: file, options: {path: lines.jsonl}}
  other: {type: queue, options: {path: other.db}}
"""
    )
    async with Broker(tmp_path / "app.db", table) as broker:
        for id in ("one", "two"):
            await broker.subscriptions.create(made(id, destinations=("lines", "other")))
        await broker.publish("a", b"{}", id="m", metadata={"region": "EU"})
        await until(lambda: broker.queue.unfinished == 0)
    (line,) = (tmp_path / "lines.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["owner"], record["subscriptions"], record["route"]) == ("ada", ["one", "two"], "subscriptions:ada")
    assert record["delivery_id"] == "m/subscriptions:ada/lines"
    with Queue(tmp_path / "other.db") as queue:
        (stored,) = queue.messages()
        assert stored.metadata["pointsman-owner"] == "ada"
        assert json.loads(stored.metadata["pointsman-subscriptions"]) == ["one", "two"]


@in_loop
async def test_a_fallback_gets_the_deliveries_of_each_owner_and_knows_whose_they_are() -> None:
    """When the breaker of a destination is open."""
    table = RoutingTable.parse(
        """
dialect: nats
destinations:
  desk: {breaker: {failures: 1, reset: 1h, fallback: backup}}
  backup: {}
"""
    )
    async with MemoryBroker(table, max_attempts=1) as broker:
        seen = recorded(broker, "backup")

        @broker.handler("desk")
        def fails(_: object) -> None:
            raise RuntimeError("broken")

        await broker.subscriptions.create(made("one"))
        await broker.publish("a", metadata={"region": "EU"})
        await broker.settle()
        await broker.subscriptions.create(made("two", owner="bob"))
        await broker.publish("b", metadata={"region": "EU"})
        await broker.settle()
        assert sorted(seen) == [
            ("backup", "b", "subscriptions:ada", ("one",)),
            ("backup", "b", "subscriptions:bob", ("two",)),
        ]


def test_a_request_names_the_subscriptions_that_fit_into_a_header() -> None:
    """What a header cannot carry is encoded, the comma too; one that no subscription made says nothing of them."""
    names = ("plain", "with, comma", "ä", *(f"{number:0>100}" for number in range(50)))
    delivery = Delivered("d", "subscriptions:ada", "desk", Message("a"), "ada", names)
    headers = headers_of(delivery)
    assert headers["pointsman-owner"] == "ada"
    assert headers["pointsman-subscriptions"].startswith("plain,with%2C%20comma,%C3%A4,0")
    assert len(headers["pointsman-subscriptions"]) <= LONGEST_LIST
    assert not {"pointsman-owner", "pointsman-subscriptions"} & headers_of(delivery._replace(owner=None)).keys()
