"""A program that is interrupted: what it had taken comes back, and the queue object goes on working."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
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


class Interrupted(BaseException):
    """What stops the program, as ``KeyboardInterrupt`` does."""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """An alarm that raises wherever the program is."""

    def stop(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


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


def one_after_the_other(queue: Queue, source: random.Random, rounds: int) -> tuple[set[str], int]:
    """Puts, pops and acknowledges, interrupted at random instants: what was put for certain, and how often it was."""
    certain, count = set(), 0
    for number in range(rounds):
        try:
            signal.setitimer(signal.ITIMER_REAL, source.uniform(0.00001, 0.002))
            queue.put(f"main {number}", "orders.books")
            certain.add(f"main {number}")
            message = queue.pop("orders.*")
            if message is not None:
                queue.ack(message)
            with queue.transaction() as outbox:
                outbox.put(f"outbox {number}", "orders.games")
            certain.add(f"outbox {number}")
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            count += 1
    return certain, count


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("threads", [0, 3])
def test_an_interruption_anywhere_leaves_a_queue_that_works(tmp_path: Path, threads: int) -> None:
    """No call hangs afterwards, no transaction stays open, and other threads do not notice."""
    path, stop = tmp_path / "queue.db", threading.Event()
    counts = [0] * threads
    with Queue(path, durability="normal", busy_timeout=1.0) as queue:

        def work(thread: int) -> None:
            while not stop.is_set():
                queue.put(f"thread {thread} {counts[thread]}", "orders.films")
                counts[thread] += 1
                time.sleep(0.001)

        workers = [threading.Thread(target=work, args=(each,)) for each in range(threads)]
        for worker in workers:
            worker.start()
        certain, interruptions = one_after_the_other(queue, random.Random(threads), 400)
        stop.set()
        for worker in workers:
            worker.join()
        assert interruptions > 0
        with Queue(path, busy_timeout=0.5) as other:
            other.put("of another")
        found = [str(message.data) for message in queue.messages(limit=100_000)]
        expected = certain | {
            f"thread {thread} {number}" for thread in range(threads) for number in range(counts[thread])
        }
        assert expected <= set(found)
        assert len(found) == len(set(found))
    assert inconsistencies(path, thorough=True) == []
