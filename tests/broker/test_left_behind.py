"""What a broker that is gone left in the file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from pointsman import Broker, Queue
from pointsman.broker.received import Received
from pointsman.errors import InputError, PatternError, StoreError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop, until


@in_loop
async def test_what_a_killed_process_left_behind_is_cleared_away(tmp_path: Path) -> None:
    """Its temporary subscriptions and its inbox would gather messages for ever."""
    program = """
import asyncio, os, signal, sys
from pointsman import Broker
@in_loop
async def test_the_number_of_a_process_that_came_again_does_not_keep_what_was_left_behind(tmp_path: Path) -> None:
    """As in containers, whose processes all have the number 1; and no name leads out of the folder of the bells."""
    with Queue(tmp_path / "app.db") as queue:
        for name in (f"temporary:{os.getpid()}-7f00-0-abc", "temporary:", "inbox:../../app.db-x", "inbox:1"):
            queue.subscribe(name, "#")
    (tmp_path / "app.db-bells").mkdir()
    async with Broker(tmp_path / "app.db") as broker:
        assert broker.queue.subscriptions() == []
