"""The quick way: taken when nothing is in the way, and it leaves what the long way leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.store import schema
from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.inspect import sizes
from pointsman.store.queue import Queue
from pointsman.store.quick import MOST_UNLISTED, Quick
from pointsman.store.statements import CONTROL_READ, COUNT_UNLISTED
from pointsman.store.writer import Operation
from tests.store.clock import Clock

TABLES = ("key", "message", "ready", "leased", "delayed", "dead", "pending", "finished", "subscription")
UNLISTED = """
SELECT 0, priority, sequence, 0, key, 0, NULL, NULL FROM message WHERE sequence > (SELECT sequence FROM control)
"""
STEPS = st.lists(st.sampled_from(["put", "put", "put", "text", "metadata", "pop", "ack", "nack", "later", "back"]))


def count_long(queue: Queue) -> list[int]:
    """Counts the calls that go the long way from now on."""
    counted = [0]
    run = queue.store.writer.run

    def counting(operation: Operation[Any]) -> Any:
        counted[0] += 1
        return run(operation)

    queue.store.writer.run = counting  # type: ignore[method-assign]
    return counted


def content(queue: Queue) -> dict[str, list[Any]]:
    """Everything that is in the file, but for tokens; what is ready whether it is listed yet or not."""
    with queue.store.read() as connection:
        found = {table: list(connection.execute(f"SELECT * FROM {table}")) for table in TABLES}  # noqa: S608
        found["leased"] = [(*row[:4], *row[5:]) for row in found["leased"]]
        found["ready"] = sorted([*found["ready"], *connection.execute(UNLISTED)])
        return found | {"control": [row[:-1] for row in connection.execute(CONTROL_READ)]}


def play(queue: Queue, clock: Clock, steps: list[str]) -> list[Any]:
    """Plays steps, and gives what the calls gave."""
    given: list[Any] = []
    held: list[Any] = []
    for number, step in enumerate(steps):
        match step:
            case "put":
                given.append(queue.put(b"%d" % number, f"orders.{number % 3}").partition("-")[2])
            case "text":
                given.append(queue.put("text", "orders.0", priority=1 + number % 10).partition("-")[2])
            case "metadata":
                queue.put(b"x", "orders.1", metadata={"a": "b"}, expires=5)
            case "pop":
                message = queue.pop()
                held += [] if message is None else [message]
                given.append(None if message is None else (message.sequence, message.data, message.attempts))
            case "ack" if held:
                given.append(queue.ack(held.pop()))
            case "nack" if held:
                given.append(queue.nack(held.pop(), delay=number % 2))
            case "later":
                clock.now += 4
            case "back":
                clock.now -= 30
    return given


@given(steps=STEPS, subscribed=st.booleans())
def test_both_ways_give_and_leave_the_same(steps: list[str], subscribed: bool) -> None:
    """Whatever is done, at whatever times."""
    outcomes = []
    for quick in (True, False):
        clock = Clock()
        with (
            pytest.MonkeyPatch.context() as patch,
            Queue(":memory:", clock=clock, lease=10, max_attempts=2, retention=None) as queue,
        ):
            if not quick:
                for name in ("put", "take", "done"):
                    patch.setattr(Quick, name, lambda *_: None)
            if subscribed:
                queue.subscribe("some", "orders.2")
            outcomes.append((play(queue, clock, steps), content(queue)))
    (given, left), (expected, kept) = outcomes
    assert given == expected
    assert left == kept


def test_one_after_the_other_goes_the_quick_way(tmp_path: Path) -> None:
    """After the second transaction of a process, as it then knows that it is alone."""
    with Queue(tmp_path / "queue.db") as queue:
        for _ in range(2):
            queue.put(b"x", "orders.books")
        counted = count_long(queue)
        for _ in range(20):
            queue.put(b"x", "orders.books")
        for _ in range(20):
            message = queue.pop()
            assert message is not None
            assert queue.ack(message)
        # One of the pops may be the one of its second that notes the time.
        assert counted[0] <= 2


def test_a_message_is_taken_quickly_while_others_are_put_quickly(tmp_path: Path) -> None:
    """Though nothing but messages was written for longer than a second; the last of them tells the time."""
    clock = Clock()
    with Queue(tmp_path / "queue.db", clock=clock) as queue:
        for _ in range(6):
            queue.put(b"x", "orders.books")
            clock.forward(0.7)
        counted = count_long(queue)
        assert queue.pop() is not None
        assert counted[0] == 0
        clock.forward(0.7)
        assert queue.pop() is not None
        assert counted[0] == 1


def test_what_another_process_wrote_is_taken_up(tmp_path: Path) -> None:
    """Two queues on one file put in turns; no number is given twice, and none is left out."""
    with Queue(tmp_path / "queue.db") as one, Queue(tmp_path / "queue.db") as other:
        ids = [queue.put(b"x", "orders.books") for _ in range(10) for queue in (one, one, one, other, other)]
        assert [int(id.rpartition("-")[2]) for id in ids] == [*range(1, 51)]
        assert one.unfinished == other.unfinished == 50


def test_a_subscription_made_elsewhere_gets_the_next_message(tmp_path: Path) -> None:
    """Though the process that puts was alone until then."""
    with Queue(tmp_path / "queue.db") as one, Queue(tmp_path / "queue.db") as other:
        for _ in range(5):
            one.put(b"x", "orders.books")
        other.subscribe("all", "#")
        one.put(b"seen", "orders.books")
        message = other.pop(subscription="all")
        assert message is not None
        assert message.data == b"seen"


def test_a_queue_that_is_full_says_so(tmp_path: Path) -> None:
    """The quick way counts as the long way does."""
    with Queue(tmp_path / "queue.db", maxsize=5) as queue:
        for _ in range(5):
            queue.put(b"x", "orders.books")
        with pytest.raises(Exception, match="maxsize is 5"):
            queue.put(b"x", "orders.books")
        message = queue.pop()
        assert message is not None
        queue.ack(message)
        queue.put(b"x", "orders.books")
        assert queue.full


def test_the_number_of_commits_counts_what_was_put_quickly(tmp_path: Path) -> None:
    """And so does the mark, by which a lost tail is noticed."""
    with Queue(tmp_path / "queue.db") as queue:
        for _ in range(10):
            queue.put(b"x", "orders.books")
        with queue.store.read() as connection:
            commits, sequence, *_ = next(iter(connection.execute(CONTROL_READ)))
        assert (commits, sequence) == (10, 10)
        assert queue.store._mark is not None
        assert queue.store._mark.read() == (10, 10)


def test_what_is_put_quickly_is_seen_before_anybody_lists_it(tmp_path: Path) -> None:
    """By all who look, in this process and in others; a higher priority that came later is taken first."""
    with Queue(tmp_path / "queue.db") as queue, Queue(tmp_path / "queue.db") as other:
        ids = [queue.put(b"%d" % number, "orders.books", priority=9 - number % 3) for number in range(9)]
        for each in (queue, other):
            assert each.size().ready == 9
            assert each.status(ids[-1]) == "ready"
            assert sizes(each.store)[""][0] == 9
        assert [message.data for message in other.peek(count=3)] == [b"2", b"5", b"8"]
        queue.put(b"first", "orders.books", priority=1)
        found = other.pop("orders.*")
        assert found is not None
        assert found.data == b"first"
        assert diagnose(tmp_path / "queue.db").healthy


def test_not_many_are_ever_to_be_listed(tmp_path: Path) -> None:
    """So that whoever lists them is not kept long."""
    with Queue(tmp_path / "queue.db", durability="normal") as queue:
        for _ in range(MOST_UNLISTED * 2 + 10):
            queue.put(b"x", "orders.books")
        with queue.store.read() as connection:
            assert next(iter(connection.execute(COUNT_UNLISTED)))[0] <= MOST_UNLISTED


def test_a_file_of_the_first_version_lists_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, every message had its delivery listed, though it was younger than what was last written of the whole."""
    path = tmp_path / "queue.db"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", schema.STEPS[:1])
        patch.setattr(schema, "VERSION", 1)
        with Queue(path) as queue:
            queue.put_many([(b"x", "orders.books")] * 5)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE control SET sequence = sequence - 2, unfinished = unfinished - 2, commits = commits - 1")
    connection.close()
    with Queue(path) as queue:
        assert len(queue.pop_many(3)) == 3
        queue.put(b"x", "orders.books")
        assert len(queue.pop_many(100)) == 3
        assert queue.unfinished == 6
