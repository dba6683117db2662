"""Room in the log: it is there before it is written to, and nothing is read from it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pointsman.store.doctor.wal import read_log
from pointsman.store.queue import Queue

PAGE = 4096


def log_of(path: Path) -> Path:
    """The log of a queue."""
    return Path(f"{path}-wal")


def test_the_log_is_longer_than_what_is_in_it(tmp_path: Path) -> None:
    """After a few messages there is room for more, of zeros."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        for _ in range(20):
            queue.put(b"x", "orders.books")
        log = read_log(log_of(path), PAGE)
        data = log_of(path).read_bytes()
        assert log is not None
        assert log.broken is None
        written = 32 + log.last * (24 + PAGE)
        assert len(data) > written
        assert not any(data[written:])


def test_who_does_not_wait_for_the_disk_makes_no_room(tmp_path: Path) -> None:
    """It would gain nothing."""
    path = tmp_path / "queue.db"
    with Queue(path, durability="normal") as queue:
        for _ in range(20):
            queue.put(b"x", "orders.books")
        log = read_log(log_of(path), PAGE)
        assert log is not None
        assert log_of(path).stat().st_size == 32 + log.last * (24 + PAGE)


def test_a_log_with_room_is_read_as_far_as_it_was_written(tmp_path: Path) -> None:
    """By a process that finds it as a killed one left it."""
    path, copy = tmp_path / "queue.db", tmp_path / "copy.db"
    with Queue(path) as queue:
        for number in range(50):
            queue.put(b"%d" % number, "orders.books")
        for suffix in ("", "-wal", "-mark"):
            Path(f"{copy}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    with Queue(copy) as queue:
        assert [message.data for message in queue.pop_many(100)] == [b"%d" % number for number in range(50)]


def test_two_who_write_at_a_time_lose_nothing_to_the_room_that_the_other_makes(tmp_path: Path) -> None:
    """Zeros are written only where nobody can be writing."""
    path = tmp_path / "queue.db"

    def put(name: str) -> None:
        with Queue(path) as queue:
            for number in range(150):
                queue.put(f"{name} {number}".encode(), "orders.books")

    with Queue(path) as queue:
        threads = [threading.Thread(target=put, args=(name,)) for name in ("one", "other")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [message.data.decode() for message in queue.pop_many(1000)]
    assert sorted(found) == sorted(f"{name} {number}" for name in ("one", "other") for number in range(150))


def test_a_disk_without_room_for_room_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction itself finds out whether there is enough for it."""
    path = tmp_path / "queue.db"

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with Queue(path) as queue:
        monkeypatch.setattr("pointsman.store.room.os.pwrite", full)
        for _ in range(20):
            queue.put(b"x", "orders.books")
        assert queue.size().ready == 20


def test_a_log_of_its_whole_length_is_begun_anew_and_grows_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then nobody looks after each commit, and SQLite itself copies the log into the database."""
    monkeypatch.setattr("pointsman.store.room.CHECKPOINT", 30)
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        for _ in range(100):
            queue.put(b"x", "orders.books")
        length = log_of(path).stat().st_size
        for _ in range(200):
            queue.put(b"x", "orders.books")
        assert log_of(path).stat().st_size == length
        assert path.stat().st_size > 4 * PAGE
        assert queue.size().ready == 300


def test_a_log_that_was_cut_off_gets_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it had its whole length before, and nobody looked any more."""
    monkeypatch.setattr("pointsman.store.room.CHECKPOINT", 30)
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        for _ in range(100):
            queue.put(b"x", "orders.books")
        queue.vacuum()
        assert log_of(path).stat().st_size == 0
        for _ in range(10):
            queue.put(b"x", "orders.books")
        log = read_log(log_of(path), PAGE)
        assert log is not None
        assert log_of(path).stat().st_size > 32 + log.last * (24 + PAGE)
