"""A process that is stopped in the middle of a transaction holds the lock: others are told, and can still read."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.store.failures.processes import ended_well, fork, stored

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_writers_are_told_and_readers_work_while_a_stopped_process_holds_the_lock(tmp_path: Path) -> None:
    """When the process goes on, so does everybody, and what it did is there."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        given = queue.put("before", "orders.books")

    def work() -> None:
        with Queue(path) as own, own.transaction() as outbox:
            outbox.put("of the stopped process", "orders.books")
            os.kill(os.getpid(), signal.SIGSTOP)

    child = fork(work)
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    with Queue(path, busy_timeout=0.1) as queue:
        for change in (lambda: queue.put("refused"), queue.pop, lambda: queue.prune()):
            with pytest.raises(StoreError) as caught:
                change()
            assert caught.value.code == "store-busy"
        assert [message.data for message in queue.peek(count=5)] == ["before"]
        assert queue.size().ready == queue.unfinished == 1
        found = queue.get(given)
        assert found is not None
        assert found.data == "before"
        os.kill(child, signal.SIGCONT)
        assert ended_well(child)
        queue.put("after", "orders.books")
        assert stored(queue) == ["before", "of the stopped process", "after"]
