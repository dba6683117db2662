"""When the broker itself is in trouble: nothing hangs, nothing is left open, and it goes on where it can."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import apsw
import pytest

from pointsman import Broker, Queue, RoutingTable
from pointsman.errors import PointsmanError, StoreError
from pointsman.store.lease import Taker
from pointsman.store.writer import Writer
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


def descriptors() -> int:
    """How many are open in this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@in_loop
async def test_a_queue_that_is_closed_under_the_broker_is_an_error_of_every_call(tmp_path: Path) -> None:
    """And the broker can still be closed."""
    async with Broker(tmp_path / "app.db", grace=1) as broker:
        await broker.publish("a")
        broker.queue.close()
        for call in (broker.publish("b"), broker.request("c", timeout=1)):
            with pytest.raises(StoreError) as caught:
                await call
            assert caught.value.code == "store-closed"


@in_loop
async def test_what_goes_wrong_in_the_writing_thread_comes_out_where_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For all who took part in the transaction; the next one is not concerned."""
    async with MemoryBroker() as broker:
        with monkeypatch.context() as broken:

            def fail(*_: Any) -> None:
                raise MemoryError("no room")

            broken.setattr(Writer, "run_many", fail)
            outcomes = await asyncio.gather(*(broker.publish("a") for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in outcomes] == [MemoryError] * 3
        assert (await broker.publish("a")).deliveries == 0


@in_loop
async def test_a_queue_that_cannot_be_read_for_a_while_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, and the messages come afterwards."""
    async with MemoryBroker() as broker:
        seen: list[str] = []
        broker.on("a", name="h")(lambda message: seen.append(message.subject))
        with monkeypatch.context() as broken:

            def fail(*_: Any) -> None:
                raise StoreError("store-busy", "somebody else")

            broken.setattr(Taker, "first", fail)
            await broker.publish("a")
            await until(lambda: "the queue could not be read; trying again" in caplog.text)
        await broker.settle()
        assert seen == ["a"]


@in_loop
async def test_a_locked_file_fails_a_publish_and_a_later_one_succeeds(tmp_path: Path) -> None:
    """After ``busy_timeout``, with nothing stored; handlers go on when the lock is gone."""
    async with Broker(tmp_path / "app.db", busy_timeout=0.05) as broker:
        seen: list[bytes] = []
        broker.on("a", name="h")(lambda message: seen.append(message.body))
        other = apsw.Connection(str(tmp_path / "app.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as caught:
            await broker.publish("a", "no")
        assert caught.value.code == "store-busy"
        other.execute("ROLLBACK")
        other.close()
        await broker.publish("a", "yes")
        await until(lambda: seen == [b"yes"])


@pytest.mark.parametrize("trouble", ["dialect", "table", "pattern", "folder", "setting"])
def test_a_broker_that_cannot_be_opened_leaves_nothing_open(trouble: str, tmp_path: Path) -> None:
    """No descriptor and no thread; each with an error of the project."""
    with Queue(tmp_path / "mqtt.db", dialect="mqtt"):
        pass
    (tmp_path / "bad.yaml").write_text("routes: [{name: r}]")
    table = RoutingTable.parse("dialect: nats")

    def broker() -> Broker:
        if trouble == "dialect":
            return Broker(tmp_path / "mqtt.db", table)
        if trouble == "table":
            return Broker(tmp_path / "app.db", tmp_path / "bad.yaml")
        if trouble == "folder":
            return Broker(tmp_path / "missing" / "app.db", table)
        if trouble == "setting":
            return Broker(tmp_path / "app.db", table, lease=-1)
        made = Broker(tmp_path / "app.db", table)
        made.on("a..b", name="h")(print)
        return made

    @in_loop
    async def run() -> None:
        for _ in range(3):
            with pytest.raises(PointsmanError):
                await broker().__aenter__()

    run()
    before = descriptors()
    run()
    assert descriptors() == before


@in_loop
async def test_brokers_that_come_and_go_leave_no_descriptor(tmp_path: Path) -> None:
    """Nor a pipe in the folder beside the file."""

    async def use() -> None:
        async with Broker(tmp_path / "app.db") as broker, broker.subscribe("#") as messages:
            broker.on("ask", name="h")(lambda _: "yes")
            await broker.request("ask")
            await anext(messages)

    await use()
    before = descriptors()
    for _ in range(5):
        await use()
    assert descriptors() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["app.db", "app.db-mark"]


@in_loop
async def test_what_an_older_table_left_in_the_file_is_not_looked_at_for_ever(tmp_path: Path) -> None:
    """A gathering that no route knows is forgotten; a saga stays, for its table may come back."""
    old = RoutingTable.parse(
        """
dialect: nats
destinations: {d: {}}
routes: [{name: g, pattern: ask, strategy: scatter-gather, gather: {timeout: 0.001s}, destinations: [d]}]
sagas:
  s:
    starts: [{on: begin, to: waiting}]
    states: {waiting: {timeout: {after: 0.001, to: over}}, over: {final: true}}
"""
    )
    async with Broker(tmp_path / "app.db", old) as broker:
        with broker.transaction() as outbox:
            outbox.publish("begin", correlation_id="c")
            outbox.publish("ask", correlation_id="c")
            outbox.execute("UPDATE state SET due = due + 10000000")
    async with Broker(tmp_path / "app.db", RoutingTable.parse("dialect: nats")) as broker:
        with broker.transaction() as outbox:
            assert len(list(outbox.execute("SELECT * FROM state"))) == 2
            outbox.execute("UPDATE state SET due = 1")

        def left() -> list[tuple[str, int | None]]:
            with broker.queue.store.read() as connection:
                return list(connection.execute("SELECT kind, due FROM state"))

        await until(lambda: left() == [("saga", None)])
