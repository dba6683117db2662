"""Group commit: calls that come together share one sync, and each is on disk when it returns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from pointsman.errors import MessageError, StoreError, SubjectError
from pointsman.store.message import StoredMessage
from pointsman.store.queue import Queue
from pointsman.store.statements import CONTROL_READ
from pointsman.store.transaction import Transaction
from tests.store.conftest import Open

THREADS = 16


def commits(queue: Queue) -> int:
    """How many transactions were committed that changed something."""
    with queue.store.read() as connection:
        return int(next(iter(connection.execute(CONTROL_READ)))[0])


def together(queue: Queue, calls: Sequence[Callable[[], Any]]) -> list[Future[Any]]:
    """Runs each call in a thread of its own, so that all of them stand in line before the first is run."""
    with ThreadPoolExecutor(len(calls)) as threads, queue.store.writer.alone():
        futures = []
        for call in calls:
            futures.append(threads.submit(call))
            # One after the other, so that the order in line is that of the calls.
            while len(queue.store.writer._line) < len(futures) + 1 and not futures[-1].done():
                time.sleep(0)
    return futures


def outcomes(futures: list[Future[Any]]) -> list[Any]:
    """The results, and the types of what was raised."""
    return [type(future.exception()) if future.exception() else future.result() for future in futures]


def test_calls_that_stand_in_line_share_one_commit(queue: Queue) -> None:
    """In the order in which they came."""
    before = commits(queue)
    futures = together(queue, [lambda number=number: queue.put(str(number)) for number in range(THREADS)])
    assert commits(queue) == before + 1
    assert [message.id for message in queue.messages()] == outcomes(futures)
    assert [message.data for message in queue.pop_many(99)] == [str(number) for number in range(THREADS)]


def test_threads_that_put_share_syncs(open_file: Open, path: Path) -> None:
    """Far fewer transactions than messages; and each message is in the file when its call returns."""
    queue = open_file()
    each = 25

    def put(name: int) -> list[str]:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        ids = []
        for number in range(each):
            ids.append(queue.put(f"{name} {number}"))
            sequence = int(ids[-1].rpartition("-")[2])
            rows = list(connection.execute("SELECT body FROM message WHERE sequence = ?", (sequence,)))
            assert rows == [(f"{name} {number}",)]
        connection.close()
        return ids

    before = commits(queue)
    with ThreadPoolExecutor(THREADS) as threads:
        given = [id for ids in threads.map(put, range(THREADS)) for id in ids]
    assert len(set(given)) == THREADS * each == len(queue.messages())
    assert commits(queue) - before < THREADS * each / 2


def test_a_call_that_fails_fails_alone(open_queue: Open) -> None:
    """The others of the group are stored, as if it had not been there."""
    queue = open_queue(max_bytes=10)

    def breaking() -> Any:
        yield b"half", "new.half"
        raise KeyError

    before = commits(queue)
    calls: list[Callable[[], Any]] = [
        lambda: queue.put(b"1", "new.a"),
        lambda: queue.put(b"x" * 11, "new.b"),
        lambda: queue.put(b"2", "new.b"),
        lambda: queue.put(b"x", "y" * 256),
        lambda: queue.put_many(breaking()),
        lambda: queue.put_many([(b"3", "new.half"), (b"4", "new.b")]),
        lambda: queue.put(b"x", "new.c", id=""),
        lambda: queue.pop(subscription="nobody"),
        lambda: queue.put(b"5", "new.c", id="five"),
    ]
    found = outcomes(together(queue, calls))
    assert [each for each in found if isinstance(each, type)] == [
        StoreError, SubjectError, KeyError, MessageError, StoreError,
    ]  # fmt: skip
    assert commits(queue) == before + 1
    assert [message.data for message in queue.messages()] == [b"1", b"2", b"3", b"4", b"5"]
    assert queue.unfinished == 5
    assert [message.data for message in queue.pop_many(9, "*.half")] == [b"3"]
    assert [message.data for message in queue.pop_many(9, "new.b")] == [b"2", b"4"]


@pytest.mark.parametrize("maxsize", [1, 5, 15, 16, 17])
def test_a_group_fills_a_queue_exactly(open_queue: Open, maxsize: int) -> None:
    """As many as fit, and the rest are told."""
    queue = open_queue(maxsize=maxsize)
    found = outcomes(together(queue, [lambda: queue.put(b"1")] * THREADS))
    assert found.count(StoreError) == max(0, THREADS - maxsize)
    assert queue.unfinished == len(queue.messages()) == min(maxsize, THREADS)


def test_messages_that_are_popped_together_are_different_ones(queue: Queue) -> None:
    """Nobody gets what another got in the same transaction."""
    queue.put_many((b"", f"a.{number}") for number in range(THREADS))
    calls = [lambda pattern=pattern: queue.pop(pattern) for pattern in (None, "a.*", "#.3", "#") * (THREADS // 4)]
    found = [message for message in outcomes(together(queue, calls)) if message is not None]
    sequences = [message.sequence for message in found]
    assert len(sequences) == len(set(sequences)) == queue.size().leased
    assert queue.ack_many(found) == len(found)


def test_an_interrupted_operation_keeps_nobody_waiting(queue: Queue) -> None:
    """What is no error of a message stops the thread that it came to; what returned is stored, and all return."""

    class InterruptionError(BaseException):
        """As KeyboardInterrupt, which pytest takes for its own."""

    def interrupt(transaction: Transaction) -> None:
        queue.store.putter(transaction).put_each([(b"never", "never")])
        raise InterruptionError

    calls: list[Callable[[], Any]] = [lambda number=number: queue.put(str(number)) for number in range(6)]
    calls.insert(3, lambda: queue.store.write(interrupt))
    found = outcomes(together(queue, calls))
    stored = [message.id for message in queue.messages()]
    assert [id for id in found if isinstance(id, str) and id not in stored] == []
    assert "never" not in [message.routing_key for message in queue.messages()]
    assert InterruptionError in found
    assert queue.unfinished == len(stored)
    assert queue.put(b"afterwards", "never")
    assert queue.pop("never") is not None


def test_an_operation_that_only_looks_is_no_commit(queue: Queue) -> None:
    """A pop of an empty queue writes nothing."""
    queue.put(b"1")
    queue.pop()
    before = commits(queue)
    assert [queue.pop() for _ in range(3)] == [None] * 3
    assert queue.pop("a.*") is None
    assert commits(queue) == before


PRODUCER = """
import sys
from pointsman.store.queue import Queue
with Queue(sys.argv[1]) as queue:
    for number in range(40):
        print(queue.put(f"{sys.argv[2]} {number}", "a"), flush=True)
"""


def test_several_processes_put_and_pop_at_the_same_time(open_file: Open, path: Path) -> None:
    """Every message whose put returned is delivered once, in the order in which its process put it."""
    queue = open_file(clock=time.time)
    command = [sys.executable, "-c", PRODUCER, str(path)]
    producers = [subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in ("one", "two")]
    got: list[tuple[str, str]] = []
    messages: list[StoredMessage] = []
    has_ended = False
    while messages or not has_ended:
        # Looked at before the pop: what was put before the end is found after it.
        has_ended = all(producer.poll() is not None for producer in producers)
        messages = queue.pop_many(7)
        queue.ack_many(messages)
        got += [(message.id, str(message.data)) for message in messages]
    printed = [line for producer in producers for line in producer.communicate()[0].split()]
    assert [producer.returncode for producer in producers] == [0, 0]
    assert sorted(printed) == sorted(id for id, _ in got)
    for name in ("one", "two"):
        assert [data for _, data in got if data.startswith(name)] == [f"{name} {number}" for number in range(40)]
    assert queue.size() == (0, 0, 0, 0, 80, 0)
