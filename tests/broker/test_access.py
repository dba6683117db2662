"""Access: who may publish, and what of a subscription its owner may read."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pointsman import Broker, RoutingTable
from pointsman.errors import AccessError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until

TABLE = RoutingTable.parse(
    """
dialect: nats
access:
  shop: {publish: ["orders.>"], subscribe: ["orders.>"], deny: {publish: [orders.returned], subscribe: [orders.secret]}}
  courier: {subscribe: ["orders.*.ready"]}
"""
)


@in_loop
async def test_who_may_not_publish_is_refused_and_told_which_rule_decided() -> None:
    """Deny wins, an unknown principal may nothing, and without one access is not asked."""
    async with MemoryBroker(TABLE) as broker:
        await broker.publish("orders.new", principal="shop")
        for subject, principal in (("orders.returned", "shop"), ("stock.new", "shop"), ("orders.new", "nobody")):
            with pytest.raises(AccessError) as caught:
                await broker.publish(subject, principal=principal)
            assert caught.value.code == "publish-refused"
            assert principal in str(caught.value)
        await broker.publish("orders.returned")
        assert [each.routing_key for each in broker.queue.messages()] == ["orders.new", "orders.returned"]


@in_loop
async def test_an_inbox_is_not_a_way_around_access() -> None:
    """A principal that may publish nothing may not reply either; the broker itself always may."""
    async with MemoryBroker(TABLE) as broker:
        broker.on("ask", name="h")(lambda _: "yes")
        assert (await broker.request("ask")).body == b"yes"
        (inbox,) = [each.name for each in broker.queue.subscriptions() if each.name.startswith("inbox:")]
        with pytest.raises(AccessError) as caught:
            await broker.publish(inbox, b"forged", principal="courier")
        assert caught.value.code == "publish-refused"


@in_loop
async def test_a_subscription_is_narrowed_to_what_its_owner_may_read_and_told_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Handlers and iterators alike; nobody's rights are all."""
    async with MemoryBroker(TABLE) as broker:
        seen: list[tuple[str, str]] = []
        with caplog.at_level(logging.INFO, "pointsman.broker"):
            for owner in ("shop", "courier", None):
                broker.on(">", name=f"of {owner}", principal=owner)(
                    lambda message, owner=owner: seen.append((str(owner), message.subject))
                )
        assert "orders.*.ready" in caplog.text
        async with broker.subscribe("orders.>", principal="courier") as orders:
            for subject in ("orders.eu.ready", "orders.secret", "orders.new", "stock.new"):
                await broker.publish(subject)
            assert (await anext(orders)).subject == "orders.eu.ready"
            await broker.settle()
            assert broker.queue.size(next(iter(n for n in broker.sizes() if n.startswith("temporary:")))).ready == 0
        assert sorted(seen) == [
            ("None", "orders.eu.ready"),
            ("None", "orders.new"),
            ("None", "orders.secret"),
            ("None", "stock.new"),
            ("courier", "orders.eu.ready"),
            ("shop", "orders.eu.ready"),
            ("shop", "orders.new"),
        ]


@in_loop
async def test_who_may_read_nothing_of_it_may_not_subscribe() -> None:
    """With a code, while the broker runs and when it is opened; nothing is stored."""
    async with MemoryBroker(TABLE) as broker:
        for subscribe in (
            lambda: broker.subscribe("stock.>", principal="courier"),
            lambda: broker.on("stock.>", name="h", principal="courier")(print),
            lambda: broker.subscribe(">", principal="nobody"),
        ):
            with pytest.raises(AccessError) as caught:
                subscribe()
            assert caught.value.code == "subscribe-refused"
        assert broker.queue.subscriptions() == []
    refused = MemoryBroker(TABLE)
    refused.on("stock.>", name="h", principal="courier")(print)
    with pytest.raises(AccessError):
        await refused.__aenter__()


@in_loop
async def test_a_handler_that_is_given_an_owner_later_has_only_its_rights_from_then_on(tmp_path: Path) -> None:
    """The file does not keep that it once had all."""
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        broker.on(">", name="h")(print)
    async with Broker(tmp_path / "app.db", TABLE) as broker:
        seen: list[str] = []
        broker.on(">", name="h", principal="courier")(lambda message: seen.append(message.subject))
        assert (await broker.publish("stock.new")).deliveries == 0
        assert (await broker.publish("orders.eu.ready")).deliveries == 1
        await until(lambda: seen == ["orders.eu.ready"])
