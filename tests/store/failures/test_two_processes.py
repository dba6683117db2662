"""Several processes on one file at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies
from tests.store.failures.processes import Gate, ended_well, fork, put_many, stored

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def test_what_two_processes_put_at_once_is_all_there(tmp_path: Path) -> None:
    """Each message once, and those of each process in their order."""
    path = tmp_path / "queue.db"

    def work(name: str) -> None:
        with Queue(path) as queue:
            put_many(queue, name, 150)

    assert ended_well(*[fork(lambda name=name: work(name)) for name in "ab"])  # type: ignore[misc]
    with Queue(path) as queue:
        found = stored(queue)
        for name in "ab":
            assert [text for text in found if str(text).startswith(name)] == [f"{name} {each}" for each in range(150)]
        assert len(found) == 300


def test_what_two_processes_pop_at_once_is_popped_by_one_of_them(tmp_path: Path) -> None:
    """No message twice while its lease holds."""
    path, start = tmp_path / "queue.db", Gate()
    with Queue(path) as queue:
        put_many(queue, "message", 300)

    def work(name: str) -> None:
        with Queue(path) as queue, (tmp_path / name).open("w") as file:
            start.wait()
            while message := queue.pop(lease=600):
                file.write(f"{message.data!s}\n")
                assert queue.ack(message)

    children = [fork(lambda name=name: work(name)) for name in "ab"]  # type: ignore[misc]
    start.open()
    start.open()
    assert ended_well(*children)
    start.close()
    popped = [line for name in "ab" for line in (tmp_path / name).read_text().splitlines()]
    assert sorted(popped) == sorted(f"message {number}" for number in range(300))
    assert inconsistencies(path, thorough=True) == []


def test_one_lease_has_one_owner_also_when_it_runs_out(tmp_path: Path) -> None:
    """Who is late is told, and changes nothing."""
    path = tmp_path / "queue.db"
    with Queue(path) as slow, Queue(path) as quick:
        slow.put("one")
        late = slow.pop(lease=0)
        again = quick.pop(lease=600)
        assert late is not None
        assert again is not None
        assert not slow.ack(late)
        assert not slow.nack(late)
        assert slow.extend(late, 600) is None
        assert quick.ack(again)
        assert slow.pop() is None


def test_two_processes_that_make_the_same_file_make_one_queue(tmp_path: Path) -> None:
    """Both see what the other put."""
    path, start = tmp_path / "queue.db", Gate()

    def work(name: str) -> None:
        start.wait()
        with Queue(path) as queue:
            put_many(queue, name, 1)

    children = [fork(lambda name=name: work(name)) for name in "abcd"]  # type: ignore[misc]
    for _ in children:
        start.open()
    assert ended_well(*children)
    start.close()
    with Queue(path) as queue:
        assert sorted(map(str, stored(queue))) == ["a 0", "b 0", "c 0", "d 0"]
