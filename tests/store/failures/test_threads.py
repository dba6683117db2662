"""Eight threads on one queue object."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pointsman.errors import MessageError
from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies

THREADS = 8
EACH = 60


def together(work: Callable[[int], None]) -> None:
    """Does this in each of the threads, and raises what one of them raised."""
    raised: list[BaseException] = []

    def run(thread: int) -> None:
        try:
            work(thread)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_threads_put_pop_and_acknowledge_through_one_object(tmp_path: Path, durability: str) -> None:
    """Each message is delivered to one of them, once, and is then done."""
    path = tmp_path / "queue.db"
    popped: list[str | bytes] = []
    with Queue(path, durability=durability) as queue:

        def work(thread: int) -> None:
            for number in range(EACH):
                queue.put(f"{thread} {number}", "orders.books")
                message = queue.pop(lease=600)
                assert message is not None
                popped.append(message.data)
                assert queue.ack(message)

        together(work)
        assert sorted(map(str, popped)) == sorted(
            f"{each} {number}" for each in range(THREADS) for number in range(EACH)
        )
        assert queue.unfinished == 0
        assert queue.size().done == THREADS * EACH
    assert inconsistencies(path, thorough=True) == []


def test_a_call_that_fails_leaves_those_of_other_threads_alone(tmp_path: Path) -> None:
    """Calls share a transaction, and not their mistakes."""
    with Queue(tmp_path / "queue.db") as queue:

        def work(thread: int) -> None:
            for number in range(EACH):
                if thread % 2:
                    with pytest.raises(MessageError):
                        queue.put("bad", f"new.key.{thread}.{number}", priority=99)
                else:
                    queue.put(f"{thread} {number}", f"new.key.{thread}.{number}")

        together(work)
        assert len(queue.messages()) == queue.unfinished == THREADS // 2 * EACH
        assert all(message.routing_key.startswith("new.key") for message in queue.messages())
    assert inconsistencies(tmp_path / "queue.db", thorough=True) == []


def test_threads_read_while_others_write(tmp_path: Path) -> None:
    """What is read is what was committed."""
    with Queue(tmp_path / "queue.db") as queue:

        def work(thread: int) -> None:
            for number in range(EACH):
                if thread % 2:
                    assert queue.size().ready >= len(queue.peek(count=3)) - 3
                    assert len(queue.messages()) % 2 == 0
                else:
                    queue.put_many([(f"{number}", "one"), (f"{number}", "two")])

        together(work)
        assert queue.unfinished == THREADS // 2 * EACH * 2
