"""A process that is forked goes on with the queue that its parent had open, and so does the parent."""

from __future__ import annotations

import faulthandler
import multiprocessing
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store import fork as forking
from pointsman.store.doctor.wal import read_log
from pointsman.store.queue import Queue
from tests.store.failures.processes import Gate, ended_well, fork, put_many, stored

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_parent_and_child_both_put_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    """Both use the same object at the same time."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.put("before", "orders.books")
        child = fork(lambda: put_many(queue, "child"))
        put_many(queue, "parent")
        assert ended_well(child)
        wanted = ["before", *(f"{who} {number}" for who in ("child", "parent") for number in range(50))]
        assert sorted(map(str, stored(queue))) == sorted(wanted)


def test_what_a_child_puts_after_its_parent_closed_the_queue_is_there(tmp_path: Path) -> None:
    """The parent does not take the file away from a child that still writes."""
    queue, started, closed = Queue(tmp_path / "queue.db"), Gate(), Gate()
    queue.put("one")

    def work() -> None:
        queue.put("two")
        started.open()
        closed.wait()
        queue.put("three")

    child = fork(work)
    started.wait()
    queue.close()
    closed.open()
    assert ended_well(child)
    started.close()
    closed.close()
    with Queue(tmp_path / "queue.db") as again:
        assert stored(again) == ["one", "two", "three"]


def test_a_fork_in_the_middle_of_other_threads_puts_harms_neither(tmp_path: Path) -> None:
    """Threads put while others fork: each child can put, and each thread goes on."""
    with Queue(tmp_path / "queue.db") as queue:
        threads = [threading.Thread(target=put_many, args=(queue, f"thread {each}", 100)) for each in range(4)]
        for thread in threads:
            thread.start()
        children = [fork(lambda each=each: put_many(queue, f"child {each}", 5)) for each in range(5)]  # type: ignore[misc]
        assert ended_well(*children)
        for thread in threads:
            thread.join()
        found = stored(queue)
        assert len(found) == len(set(found)) == 425
        assert queue.unfinished == queue.size().ready == 425


def test_a_message_is_popped_by_the_parent_or_by_the_child(tmp_path: Path) -> None:
    """While both hold their leases, none is popped twice."""
    with Queue(tmp_path / "queue.db") as queue, Queue(tmp_path / "results.db") as results:
        put_many(queue, "message", 100)

        def take() -> None:
            while message := queue.pop(lease=600):
                results.put(message.data)
                assert queue.ack(message)

        child = fork(take)
        take()
        assert ended_well(child)
        assert sorted(map(str, stored(results))) == sorted(f"message {number}" for number in range(100))
        assert queue.unfinished == 0


def test_a_lease_of_the_parent_can_be_acknowledged_by_its_child(tmp_path: Path) -> None:
    """A lease belongs to whoever has the message, in whatever process."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.put("one")
        message = queue.pop()
        assert message is not None
        child = fork(lambda: exec("assert queue.ack(message)", {"queue": queue, "message": message}))  # noqa: S102
        assert ended_well(child)
        assert not queue.ack(message)
        assert queue.size().done == 1


def test_a_child_that_leaves_a_loop_of_its_parent_gives_nothing_back(tmp_path: Path) -> None:
    """The message at which the parent forked stays the parent's, who is woken as before."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.put("one")
        messages = queue.consume(wait=0.01)
        message = next(messages)
        assert ended_well(fork(lambda: messages.close()))  # type: ignore[attr-defined]
        assert queue.size().leased == 1
        assert len(list((tmp_path / "queue.db-bells").iterdir())) == 1
        assert next(messages, None) is None
        assert queue.status(message.id) == "done"


def test_a_child_forked_within_a_transaction_has_the_queue_closed(tmp_path: Path) -> None:
    """The transaction stays the parent's."""

    def use_it() -> None:
        with pytest.raises(StoreError) as caught:
            queue.put("child")
        assert caught.value.code == "store-closed"

    with Queue(tmp_path / "queue.db") as queue:
        with queue.transaction() as outbox:
            outbox.put("parent")
            assert ended_well(fork(use_it))
        assert stored(queue) == ["parent"]


def test_a_child_forked_by_a_thread_that_reads_has_the_queue_closed(tmp_path: Path) -> None:
    """The fork does not wait for its own thread, and the parent reads on."""

    def use_it() -> None:
        with pytest.raises(StoreError) as caught:
            queue.put("child")
        assert caught.value.code == "store-closed"

    with Queue(tmp_path / "queue.db") as queue:
        queue.put("parent")
        faulthandler.dump_traceback_later(60, exit=True)
        with queue.store.read() as connection:
            assert ended_well(fork(use_it))
            assert list(connection.execute("SELECT count(*) FROM message")) == [(1,)]
        faulthandler.cancel_dump_traceback_later()
        assert ended_well(fork(lambda: put_many(queue, "child", 1)))
        assert stored(queue) == ["parent", "child 0"]


def test_a_queue_in_memory_is_closed_in_the_child() -> None:
    """What is in memory belongs to one process."""

    def use_it() -> None:
        with pytest.raises(StoreError) as caught:
            queue.put("child")
        assert caught.value.code == "store-closed"

    with Queue(":memory:") as queue:
        queue.put("parent")
        assert ended_well(fork(use_it))
        assert stored(queue) == ["parent"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_queue_whose_file_is_gone_keeps_no_other_from_going_on_after_a_fork(tmp_path: Path, place: int) -> None:
    """Whichever of them it is; its own calls fail."""
    queues = sorted((Queue(tmp_path / f"{each}.db") for each in range(3)), key=lambda queue: id(queue.store))
    gone = queues.pop(place)
    Path(gone.store.path).unlink()

    def use_them() -> None:
        for queue in queues:
            queue.put("child")

    assert ended_well(fork(use_them))
    for queue in queues:
        queue.put("parent")
        assert stored(queue) == ["child", "parent"]
        queue.close()
    with pytest.raises(StoreError):
        gone.put("lost")


def test_a_queue_may_be_opened_by_another_thread_while_the_open_ones_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was open before the fork is closed for it all the same."""

    class Growing(weakref.WeakSet[forking.Forked]):
        """A set that grows when it is first gone through."""

        grown = False

        def __iter__(self) -> Iterator[forking.Forked]:
            if not self.grown:
                self.grown = True
                raise RuntimeError("Set changed size during iteration")
            return super().__iter__()

    with Queue(tmp_path / "queue.db") as queue:
        monkeypatch.setattr(forking, "OPEN", Growing([queue.store]))
        assert ended_well(fork(lambda: put_many(queue, "child", 5)))
        put_many(queue, "parent", 5)
        assert len(set(stored(queue))) == 10


def test_a_child_has_nothing_of_the_database_open_until_it_uses_it(tmp_path: Path) -> None:
    """Neither the connection that writes nor the one that reads: to close one would end locks of its parent."""
    path = tmp_path / "queue.db"

    def open_files() -> set[str]:
        links = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
        return {str(each.readlink()) for each in links} & {f"{path}{suffix}" for suffix in ("", "-wal", "-shm")}

    def look() -> None:
        assert not open_files()
        queue.put("child")
        assert open_files()

    with Queue(path) as queue:
        queue.put("parent")
        assert queue.size().ready == 1
        assert ended_well(fork(look))
        assert stored(queue) == ["parent", "child"]


def test_room_in_the_log_is_made_after_a_fork_too(tmp_path: Path) -> None:
    """By the new connection of the parent, before it writes."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        assert ended_well(fork(lambda: None))
        for _ in range(20):
            queue.put(b"x", "orders.books")
        log = read_log(Path(f"{path}-wal"), 4096)
        assert log is not None
        assert Path(f"{path}-wal").stat().st_size > 32 + log.last * (24 + 4096)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_file_that_was_replaced_is_not_taken_for_the_old_one_after_a_fork(tmp_path: Path) -> None:
    """By neither side: what they would put there is another queue's."""
    path = tmp_path / "queue.db"

    def use_it() -> None:
        with pytest.raises(StoreError, match="store-moved"):
            queue.put("child")

    with Queue(path) as queue:
        queue.put("one")
        with Queue(tmp_path / "other.db"):
            pass
        (tmp_path / "other.db").rename(path)
        assert ended_well(fork(use_it))
        with pytest.raises(StoreError):
            queue.put("parent")
    for beside in ("-mark", "-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)
    with Queue(path) as other:
        assert stored(other) == []


def test_children_of_multiprocessing_share_a_queue(tmp_path: Path) -> None:
    """The context that forks hands the object over as it is."""
    context = multiprocessing.get_context("fork")
    with Queue(tmp_path / "queue.db") as queue:
        children = [context.Process(target=put_many, args=(queue, f"child {each}", 20)) for each in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0, 0, 0]
        assert len(set(stored(queue))) == 60
