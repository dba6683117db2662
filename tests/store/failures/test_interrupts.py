"""A program that is interrupted: what it had taken comes back, and the queue object goes on working."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies

ROOT = Path(__file__).parents[3]
CONSUMER = """
import signal, sys, time
from pointsman.store.queue import Queue

def stop(number, frame):
    raise SystemExit(0)

signal.signal(signal.SIGTERM, stop)
with Queue(sys.argv[1]) as queue:
    for message in queue.consume(lease=600):
        print(message.data, flush=True)
        if message.data == "second":
            time.sleep(600)
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_the_message_at_which_a_consumer_was_stopped_comes_back_at_once(tmp_path: Path, sent: signal.Signals) -> None:
    """Though its lease is long; what was done before stays done."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put_many([("first", ""), ("second", ""), ("third", "")])
    command = [sys.executable, "-c", CONSUMER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as consumer:
        assert consumer.stdout is not None
        assert [consumer.stdout.readline().strip() for _ in range(2)] == ["first", "second"]
        os.kill(consumer.pid, sent)
        consumer.wait()
    with Queue(path) as queue:
        assert [message.data for message in queue.pop_many(10)] == ["second", "third"]
        assert queue.size().done == 1


def test_an_exception_in_a_consumers_loop_gives_the_message_back(tmp_path: Path) -> None:
    """Whatever ends the loop."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.put("one")

        def consume() -> None:
            for _ in queue.consume(wait=0):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            consume()
        assert [message.attempts for message in queue.pop_many(1)] == [2]


@pytest.mark.parametrize("threads", [0, 3])
def test_an_interruption_anywhere_leaves_a_queue_that_works(tmp_path: Path, threads: int) -> None:
    """No call hangs afterwards, no transaction stays open, and other threads do not notice."""
    path = tmp_path / "queue.db"
    command = [sys.executable, "-m", "tests.store.failures.interrupted", str(path), str(threads)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0
    assert inconsistencies(path, thorough=True) == []
