"""Opening another program's database: everything in it is read, and nothing is written."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pointsman.errors import StoreError
from pointsman.store.migrate.source import Source, opened
from tests.store.importing.databases import EXAMPLE, LATER, litequeue, miniq, traces

KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("CREATE TABLE q " + sys.argv[2])
for number in range(100):
    connection.execute("INSERT INTO q VALUES (?, 'a.b', 'x', 0, 5, 1, NULL, NULL)", (f"id-{number}",))
os._exit(9)
"""
RUNNING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for number in (1, 2):
    connection.execute("INSERT INTO messages VALUES (?, 'a', 'x', 0, 5, 1, NULL, NULL)", (str(number),))
    print("put", number, flush=True)
    sys.stdin.readline()
"""
LOCKING = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 2")
connection.execute("CREATE TABLE q " + sys.argv[2])
connection.execute("INSERT INTO q VALUES ('1', 'a', 'x', 0, 5, 1, NULL, NULL)")
print("made", flush=True)
sys.stdin.readline()
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
if sys.stdin.readline() == "write\\n":
    for number in range(1000):
        connection.execute("INSERT INTO q VALUES (?, 'a', ?, 0, 5, 1, NULL, NULL)", (str(number), "x" * 1000))
    os._exit(9)
"""


def ids(path: Path) -> list[str | None]:
    """The ids of all messages."""
    with opened(path, busy_timeout=0.05) as database:
        return [row.id for row in Source(database).rows()]


def killed(folder: Path) -> Path:
    """The database of a program that was killed: its messages are in the log only."""
    path = folder / "killed.db"
    subprocess.run([sys.executable, "-c", KILLED, str(path), LATER], check=False)
    return path


def refusal(path: Path) -> str:
    """The code of the error when it is opened and read."""
    with pytest.raises(StoreError) as caught:
        ids(path)
    assert caught.value.file == str(path)
    return caught.value.code


def test_a_database_without_a_log_is_read_without_a_trace(tmp_path: Path) -> None:
    """The example is in WAL mode, where SQLite makes files even for a reader."""
    path = Path(shutil.copy(EXAMPLE, tmp_path / "miniq.db"))
    before = traces(tmp_path)
    assert len(ids(path)) == 7
    assert traces(tmp_path) == before


def test_the_log_of_a_killed_program_is_read_without_a_trace(tmp_path: Path) -> None:
    """What is only in the log counts as well."""
    path = killed(tmp_path)
    assert sorted(traces(tmp_path)) == ["killed.db", "killed.db-shm", "killed.db-wal"]
    before = traces(tmp_path)
    assert len(ids(path)) == 100
    assert traces(tmp_path) == before


def test_a_log_without_its_index_is_read_without_a_trace(tmp_path: Path) -> None:
    """As when somebody copied the database and its log."""
    path = killed(tmp_path)
    (tmp_path / "killed.db-shm").unlink()
    before = traces(tmp_path)
    assert len(ids(path)) == 100
    assert traces(tmp_path) == before


def test_an_empty_log_is_no_hindrance(tmp_path: Path) -> None:
    """As an opened and closed connection may leave it."""
    path = miniq(tmp_path / "miniq.db", [("1", "a", "x", 0, 5)])
    (tmp_path / "miniq.db-wal").touch()
    before = traces(tmp_path)
    assert ids(path) == ["1"]
    assert traces(tmp_path) == before


def test_a_running_program_is_read_as_it_stands(tmp_path: Path) -> None:
    """In one transaction: what it writes meanwhile is not seen, and does not disturb."""
    path = miniq(tmp_path / "miniq.db", [("0", "a", "x", 0, 5)])
    command = [sys.executable, "-c", RUNNING, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "put 1\n"
        before = traces(tmp_path)
        with opened(path) as database:
            source = Source(database)
            assert sum(source.counts().values()) == 2
            assert traces(tmp_path) == before
            print(file=program.stdin, flush=True)
            assert program.stdout.readline() == "put 2\n"
            assert [row.id for row in source.rows()] == ["0", "1"]
            source.check()
        assert ids(path) == ["0", "1", "2"]


def test_a_link_is_read_with_the_log_of_what_it_leads_to(tmp_path: Path) -> None:
    """There is no log beside the link."""
    link = tmp_path / "link.db"
    folder = tmp_path / "there"
    folder.mkdir()
    link.symlink_to(killed(folder))
    assert len(ids(link)) == 100


def test_a_program_that_starts_on_the_log_of_a_killed_one_is_noticed(tmp_path: Path) -> None:
    """For the log is read without a lock then."""
    path = killed(tmp_path)
    with opened(path) as database:
        database.check()
        subprocess.run([sys.executable, "-c", RUNNING.replace("messages", "q"), str(path)], input="", check=True)
        with pytest.raises(StoreError, match="source-changed"):
            database.check()


def test_writing_to_what_is_read_without_a_lock_is_noticed(tmp_path: Path) -> None:
    """A program that is started while its file is read as one that does not change."""
    path = miniq(tmp_path / "miniq.db", [("1", "a", "x", 0, 5)])
    with opened(path) as database:
        Source(database).check()
        with closing(sqlite3.connect(path, isolation_level=None)) as program:
            program.execute("INSERT INTO messages VALUES ('2', 'a', 'x', 0, 5, 1, NULL, NULL)")
        with pytest.raises(StoreError, match="source-changed"):
            database.check()


def test_a_name_with_signs_of_an_address_is_a_name(tmp_path: Path) -> None:
    """SQLite reads the name of a file as an address."""
    folder = tmp_path / "50% a?b#c"
    folder.mkdir()
    assert ids(miniq(folder / "m?ode=rw&q.db", [("1", "a", "x", 0, 5)])) == ["1"]


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    """No file, no SQLite, no such table."""
    text, empty, other = tmp_path / "text.db", tmp_path / "empty.db", tmp_path / "other.db"
    text.write_text("hello " * 100)
    empty.touch()
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE messages (message_id, data, status)")
    assert refusal(tmp_path / "none.db") == "no-file"
    assert refusal(tmp_path) == "no-file"
    assert refusal(text) == refusal(empty) == refusal(other) == "source-not-queue"


@pytest.mark.parametrize("left", [50, 4096, 20_000])
def test_a_database_that_is_cut_off_is_refused(tmp_path: Path, left: int) -> None:
    """Before anything of it is taken over."""
    path = miniq(tmp_path / "miniq.db", ((str(number), "a", "x" * 100, 0, 5) for number in range(1000)))
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(StoreError, match=r"it ends after 50 bytes|it is cut off: ") as caught, opened(path):
        pytest.fail("it was opened")
    assert caught.value.code == "source-damaged"


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    """By SQLite, when it gets there."""
    path = miniq(tmp_path / "miniq.db", ((str(number), "a", "x" * 100, 0, 5) for number in range(1000)))
    content = bytearray(path.read_bytes())
    content[4096:12_288] = b"\xff" * 8192
    path.write_bytes(content)
    assert refusal(path) == "source-damaged"


def test_a_locked_database_is_refused(tmp_path: Path) -> None:
    """Only a journal's mode locks readers out."""
    path = tmp_path / "journal.db"
    command = [sys.executable, "-c", LOCKING, str(path), LATER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "made\n"
        assert ids(path) == ["1"]
        print("lock", file=program.stdin, flush=True)
        assert program.stdout.readline() == "locked\n"
        assert refusal(path) == "source-locked"


def test_a_change_that_was_not_ended_is_refused(tmp_path: Path) -> None:
    """To undo it would be to write."""
    path = tmp_path / "journal.db"
    command = [sys.executable, "-c", LOCKING, str(path), LATER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.communicate("lock\nwrite\n")
    assert (tmp_path / "journal.db-journal").stat().st_size > 0
    before = traces(tmp_path)
    assert refusal(path) == "source-locked"
    assert traces(tmp_path) == before


def test_a_file_of_litequeue_is_read(tmp_path: Path) -> None:
    """Also while litequeue has it open, as its connection does until the process ends."""
    put = litequeue(tmp_path / "lite.db", 10)
    before = traces(tmp_path)
    assert ids(tmp_path / "lite.db") == put
    assert traces(tmp_path) == before
