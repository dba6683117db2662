"""The log is read as SQLite reads it, and further."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest

from pointsman.errors import StoreError
from pointsman.store.commit_mark import mark_path
from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.doctor.repairing import repair
from pointsman.store.doctor.wal import FRAME_HEADER, HEADER, frames, read_log
from pointsman.store.queue import Queue
from tests.store.doctor.files import PAGE, before_the_end, copy, flip, killed


def test_an_intact_log_is_read_to_its_end(tmp_path: Path) -> None:
    """As many frames as SQLite says that it has, and a transaction for each put and one for the tables."""
    path = killed(tmp_path)
    connection = apsw.Connection(str(path))
    _, frames_of_sqlite, _ = next(iter(connection.execute("PRAGMA wal_checkpoint(PASSIVE)")))
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.close()
    log = read_log(Path(f"{path}-wal"), PAGE)
    assert log is not None
    assert (log.frames, log.read, log.commits, log.broken) == (frames_of_sqlite, frames_of_sqlite, 11, None)


@pytest.mark.parametrize("seed", range(12))
def test_a_log_breaks_where_sqlite_stops_reading(tmp_path: Path, seed: int) -> None:
    """A flipped bit anywhere: the frames before the broken one are those that SQLite still reads."""
    path = killed(tmp_path)
    log_path = Path(f"{path}-wal")
    flip(log_path, random.Random(seed).randrange(log_path.stat().st_size), seed % 8)
    log = read_log(log_path, PAGE)
    assert log is not None
    commits = [frame.number for frame, _ in frames(log_path, PAGE) if frame.pages and frame.number <= log.read]
    connection = apsw.Connection(str(path))
    _, read_by_sqlite, _ = next(iter(connection.execute("PRAGMA wal_checkpoint(PASSIVE)")))
    connection.close()
    assert max(commits, default=0) == max(read_by_sqlite, 0)
    assert log.commits + log.ignored_commits == 11


def test_frames_of_an_earlier_round_are_not_lost_ones(tmp_path: Path) -> None:
    """After a checkpoint the log is written from its start again, and old frames lie behind the new ones."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        for _ in range(20):
            queue.put(b"x" * 5000, "a")
        with queue.store.writer.alone() as connection:
            list(connection.execute("PRAGMA wal_checkpoint(RESTART)"))
        queue.put(b"new", "a")
        log = read_log(Path(f"{path}-wal"), PAGE)
        assert log is not None
        assert (log.commits, log.broken, log.ignored_commits) == (1, None, 0)
        assert Path(f"{path}-wal").stat().st_size > HEADER.size + log.frames * (FRAME_HEADER + PAGE)
        assert diagnose(path).healthy


def test_a_lost_tail_is_explained_and_put_back(tmp_path: Path) -> None:
    """What SQLite forgets without a word is counted, and all of it comes back from the log."""
    path = killed(tmp_path)
    log = Path(f"{path}-wal")
    flip(log, before_the_end(log, 5))
    broken = log.read_bytes()
    found = {each.code: each for each in diagnose(path).findings}
    assert set(found) == {"lost-tail", "log-broken"}
    assert found["log-broken"].count == found["lost-tail"].count > 1
    with pytest.raises(StoreError):
        Queue(path)
    repair(path)
    assert Path(f"{path}-wal-damaged").read_bytes() == broken
    assert diagnose(path).healthy
    with Queue(path) as queue:
        assert [message.data for message in queue.pop_many(100)] == [b"%d" % number for number in range(1, 11)]
        assert queue.put(b"next", "a.b").endswith("-11")


def test_a_log_whose_header_is_broken_is_put_back_whole(tmp_path: Path) -> None:
    """SQLite ignores all of it."""
    path = tmp_path / "queue.db"
    for numbers in (range(1, 11), range(11, 15)):
        with Queue(path) as queue:
            for number in numbers:
                queue.put(b"%d" % number, "a.b")
            again = copy(path, tmp_path / "again.db")
    flip(Path(f"{again}-wal"), 17)
    found = {each.code: each for each in diagnose(again).findings}
    assert "the header" in found["log-broken"].detail
    assert found["lost-tail"].detail == "4 transactions are missing: messages 11 to 14"
    repair(again)
    with Queue(again) as queue:
        assert [message.data for message in queue.pop_many(100)] == [b"%d" % number for number in range(1, 15)]


def test_a_queue_that_was_in_its_log_alone_is_salvaged(tmp_path: Path) -> None:
    """SQLite takes the file for empty; opening it would begin a new queue over the log, and is refused."""
    path = killed(tmp_path)
    log = Path(f"{path}-wal")
    flip(log, 17)
    broken = log.read_bytes()
    with pytest.raises(StoreError) as caught:
        Queue(path)
    assert caught.value.code == "store-lost-tail"
    assert log.read_bytes() == broken
    assert not diagnose(path).healthy
    repair(path)
    assert log.read_bytes() == broken
    with Queue(f"{path}-salvaged") as queue:
        assert [message.data for message in queue.pop_many(100)] == [b"%d" % number for number in range(1, 11)]


def test_a_lost_log_is_told_by_the_mark(tmp_path: Path) -> None:
    """The numbers of the messages are named; the repair takes the file as it is, and uses no number twice."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put(b"1", "a")
    with Queue(path) as queue:
        for number in range(2, 6):
            queue.put(b"%d" % number, "a")
        again = copy(path, tmp_path / "again.db")
    Path(f"{again}-wal").unlink()
    (found,) = diagnose(again).findings
    assert (found.code, found.detail) == ("lost-tail", "4 transactions are missing: messages 2 to 5")
    repair(again)
    assert diagnose(again).healthy
    with Queue(again) as queue:
        assert [message.data for message in queue.pop_many(9)] == [b"1"]
        assert queue.put(b"new", "a").endswith("-6")


def test_a_damaged_mark_is_written_anew(tmp_path: Path) -> None:
    """It says nothing any more, which would hide the next loss."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put(b"1", "a")
    flip(mark_path(path), 9)
    assert [each.code for each in diagnose(path).findings] == ["mark-unreadable"]
    repair(path)
    assert diagnose(path).findings == ()
    assert mark_path(path).stat().st_size
