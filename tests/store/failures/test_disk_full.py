"""A full disk: what was accepted stays, what is not accepted is refused, and with new room it goes on."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies
from tests.store.failures.processes import ended_well, fork, stored

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
LIMIT = 400_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a file system can be mounted by root only")
    yield place
    subprocess.run(["umount", place], check=True)


def limit_files(size: int) -> None:
    """No file of this process may grow beyond this."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def put_until_full(queue: Queue) -> list[str | bytes]:
    """Puts until there is no room; gives what was accepted."""
    accepted: list[str | bytes] = []
    while True:
        try:
            queue.put(f"{len(accepted)} {'x' * 1000}", "orders.books")
        except StoreError as error:
            assert error.code == "disk-full"
            return accepted
        accepted.append(f"{len(accepted)} {'x' * 1000}")


def refused(queue: Queue) -> None:
    """Asserts that nothing can be put, and that all of it can still be read."""
    with pytest.raises(StoreError) as caught:
        queue.put_many([("y" * 2000, "orders.books")] * 1000)
    assert caught.value.code == "disk-full"
    assert queue.unfinished == queue.size().ready == len(stored(queue))
    assert len(queue.peek(count=3)) == 3


def test_a_limit_on_the_size_of_files_refuses_a_put_and_loses_nothing(tmp_path: Path) -> None:
    """With a higher limit, the same queue goes on."""
    path = tmp_path / "queue.db"

    def work() -> None:
        with Queue(path) as queue:
            limit_files(LIMIT)
            accepted = put_until_full(queue)
            assert accepted
            refused(queue)
            assert stored(queue) == accepted
            limit_files(LIMIT * 10)
            assert queue.put("after", "orders.books")
            assert stored(queue) == [*accepted, "after"]

    assert ended_well(fork(work))
    assert inconsistencies(path, thorough=True) == []


def test_a_process_that_dies_on_a_full_disk_leaves_what_was_accepted(tmp_path: Path) -> None:
    """The next process finds it all, and no part of what was refused."""
    path = tmp_path / "queue.db"

    def work() -> None:
        queue = Queue(path)
        limit_files(LIMIT)
        accepted = put_until_full(queue)
        (tmp_path / "accepted").write_text(str(len(accepted)))

    assert ended_well(fork(work))
    with Queue(path) as queue:
        assert len(stored(queue)) == queue.unfinished == int((tmp_path / "accepted").read_text())
        queue.put("after")
    assert inconsistencies(path, thorough=True) == []


def test_a_full_file_system_refuses_a_put_and_loses_nothing(small_disk: Path) -> None:
    """When another file is deleted, the same queue goes on."""
    path = small_disk / "queue.db"
    (small_disk / "other").write_bytes(b"x" * 500_000)
    with Queue(path) as queue:
        accepted = put_until_full(queue)
        assert accepted
        refused(queue)
        assert stored(queue) == accepted
        (small_disk / "other").unlink()
        queue.put("after", "orders.books")
        assert stored(queue) == [*accepted, "after"]
        message = queue.pop()
        assert message is not None
        assert queue.ack(message)
    assert inconsistencies(path, thorough=True) == []


def test_no_room_for_a_new_file_is_an_error_of_the_project(tmp_path: Path) -> None:
    """Opening fails as putting does, and can be tried again."""
    path = tmp_path / "queue.db"

    def work() -> None:
        limit_files(2000)
        with pytest.raises(StoreError) as caught:
            Queue(path)
        assert caught.value.code == "disk-full"

    assert ended_well(fork(work))
    with Queue(path) as queue:
        queue.put("after")
        assert stored(queue) == ["after"]
