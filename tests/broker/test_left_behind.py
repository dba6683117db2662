"""What a broker that is gone left in the file."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from pointsman import Broker, Queue
from tests.broker.running import in_loop


@in_loop
async def test_what_a_killed_process_left_behind_is_cleared_away(tmp_path: Path) -> None:
    """Its temporary subscriptions and its inbox would gather messages for ever."""
    program = """
import asyncio, os, signal, sys
from pointsman import Broker
async def main():
    async with Broker(sys.argv[1]) as broker:
        broker.on("asked", name="asked")(lambda message: b"yes")
        async with broker.subscribe("#"), broker.subscribe("#", name="durable"):
            await broker.request("asked")
            os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""
    file = tmp_path / "app.db"
    killed = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, str(file)], check=False)
    assert killed.returncode == -9
    with Queue(file, dialect=None) as queue:
        assert sorted(each.name.partition(":")[0] for each in queue.subscriptions()) == [
            "asked",
            "durable",
            "inbox",
            "temporary",
        ]
    async with Broker(file) as broker, broker.subscribe("#"):
        names = [each.name for each in broker.queue.subscriptions()]
        assert sorted(name.partition(":")[0] for name in names) == ["asked", "durable", "temporary"]
        async with Broker(file):
            assert [each.name for each in broker.queue.subscriptions()] == names


@in_loop
async def test_the_number_of_a_process_that_came_again_does_not_keep_what_was_left_behind(tmp_path: Path) -> None:
    """As in containers, whose processes all have the number 1; and no name leads out of the folder of the bells."""
    with Queue(tmp_path / "app.db") as queue:
        for name in (f"temporary:{os.getpid()}-7f00-0-abc", "temporary:", "inbox:../../app.db-x", "inbox:1"):
            queue.subscribe(name, "#")
    (tmp_path / "app.db-bells").mkdir()
    async with Broker(tmp_path / "app.db") as broker:
        assert broker.queue.subscriptions() == []


@in_loop
async def test_a_broker_that_opens_the_file_by_a_link_ends_no_live_subscription(tmp_path: Path) -> None:
    """Who lives is found by the file, not by the name that it was opened by."""
    (tmp_path / "link.db").symlink_to(tmp_path / "app.db")
    async with Broker(tmp_path / "app.db") as broker, broker.subscribe("#") as messages:
        before = broker.queue.subscriptions()
        async with Broker(tmp_path / "link.db") as other:
            assert other.queue.subscriptions() == before
            await other.publish("orders.new", b"1")
            assert (await anext(messages)).body == b"1"
