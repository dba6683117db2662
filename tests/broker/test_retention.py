"""A broker that runs for long does not grow."""

from __future__ import annotations

from pointsman import RoutingTable
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop
from tests.store.test_retention import rows

TABLES = ("key", "message", "finished", "addressed", "pending", "seen", "subscription", "via", "state")
TABLE = """
dialect: nats
destinations: {billing: {type: handler}, audit: {type: handler}}
routes:
  - {name: orders, pattern: "orders.>", destinations: [billing, audit]}
"""


@in_loop
async def test_the_rows_of_a_broker_that_runs_for_long_stay_as_many() -> None:
    """With new subjects, subscriptions that end, and requests: as many after a month as after two weeks."""
    async with MemoryBroker(RoutingTable.parse(TABLE)) as broker:
        for name in ("billing", "audit"):
            broker.handler(name)(lambda _: None)
        broker.on("asked.>", name="asked")(lambda _: b"yes")
        counts: list[dict[str, int]] = []
        for day in range(30):
            for number in range(5):
                async with broker.subscribe("orders.>"):
                    await broker.publish(f"orders.{day}.{number}", b"x")
                    await broker.request(f"asked.{day}.{number}")
                    await broker.publish(f"nobody.{day}.{number}", b"x")
                    await broker.settle()
                await broker.advance(86_400 / 5)
            counts.append(rows(broker.queue, TABLES))
        for table in TABLES:
            assert max(each[table] for each in counts[20:]) <= max(each[table] for each in counts[10:20]) + 5
        assert counts[-1]["message"] < 8 * 20 + 20
        assert counts[-1]["subscription"] <= 6
