"""Versions of the file: older ones are taken forward in one transaction, newer and foreign ones are left alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from pointsman.errors import StoreError
from pointsman.store import schema
from pointsman.store.queue import Queue
from tests.store.conftest import Open

STEP = "ALTER TABLE message ADD COLUMN colour TEXT; CREATE TABLE extra (number INTEGER); INSERT INTO extra VALUES (1)"
UNDONE = "CREATE UNIQUE INDEX once ON extra (number); INSERT OR ROLLBACK INTO extra VALUES (1)"
"""Fails, and SQLite itself undoes the whole transaction, as it does when the disk is full."""
FAILING = "CREATE TABLE extra (number INTEGER); INSERT INTO nowhere VALUES (1)"


@pytest.fixture
def older(path: Path) -> Path:
    """A file of the present version, with a message in it, which is older than what a test makes the present."""
    with Queue(path) as queue:
        queue.subscribe("all", "#")
        queue.put(b"1", "a.b", id="one")
    return path


def looked_at(path: Path, statement: str) -> list[tuple[object, ...]]:
    """What the file says, without the queue."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(statement))
    finally:
        connection.close()


def test_a_new_file_says_what_it_is(path: Path) -> None:
    """So that it is known again, and by others."""
    Queue(path).close()
    assert looked_at(path, "PRAGMA application_id") == [(schema.APPLICATION,)]
    assert looked_at(path, "PRAGMA user_version") == [(schema.VERSION,)]
    assert looked_at(path, "PRAGMA journal_mode") == [("wal",)]


def test_there_is_a_step_for_each_version() -> None:
    """The number of the present version is that of the steps that lead to it."""
    assert len(schema.STEPS) == schema.VERSION


def test_an_older_file_is_taken_forward(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the steps that it lacks are run, and what was in it is still there."""
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, STEP))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    for _ in range(2):
        with Queue(older) as queue:
            assert [message.id for message in queue.messages()] == ["one"]
            assert [each.name for each in queue.subscriptions()] == ["all"]
    assert looked_at(older, "SELECT number FROM extra") == [(1,)]
    assert looked_at(older, "PRAGMA user_version") == [(schema.VERSION,)]


def test_a_new_file_takes_every_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no other than one that was taken forward."""
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, STEP))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with Queue(path) as queue:
        queue.put(b"1")
    assert looked_at(path, "SELECT colour FROM message") == [(None,)]


def test_a_step_that_fails_leaves_the_file_as_it_was(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the steps before it: all of them are one transaction."""
    before = looked_at(older, "SELECT type, name, sql FROM sqlite_schema ORDER BY name")
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, STEP.replace("extra", "other"), FAILING))
        patch.setattr(schema, "VERSION", schema.VERSION + 2)
        with pytest.raises(StoreError, match="store-failed") as caught:
            Queue(older)
        assert caught.value.file == str(older)
    assert looked_at(older, "SELECT type, name, sql FROM sqlite_schema ORDER BY name") == before
    with Queue(older) as queue:
        assert queue.pop() is not None


def test_a_newer_file_is_refused_and_not_changed(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a byte of it, and nothing appears beside it."""
    connection = apsw.Connection(str(older))
    connection.pragma("user_version", schema.VERSION + 1)
    connection.close()
    before, beside = older.read_bytes(), sorted(older.parent.iterdir())
    with pytest.raises(StoreError, match="store-newer") as caught:
        Queue(older)
    assert str(schema.VERSION + 1) in caught.value.problem
    assert older.read_bytes() == before
    assert sorted(older.parent.iterdir()) == beside
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, STEP))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with Queue(older) as queue:
        assert queue.pop() is not None


@pytest.mark.parametrize(
    "statement",
    ["CREATE TABLE theirs (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 1", "CREATE VIEW v AS SELECT 1"],
)
@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_the_database_of_somebody_else_is_refused_and_not_changed(path: Path, statement: str, mode: str) -> None:
    """Not even how it keeps its journal."""
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA journal_mode = {mode}")
    connection.execute(statement)
    connection.close()
    before, beside = path.read_bytes(), sorted(path.parent.iterdir())
    with pytest.raises(StoreError, match="store-foreign"):
        Queue(path)
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == beside


@pytest.mark.parametrize("content", [b"This is no database at all, but it is long enough." * 100, b"short"])
def test_a_file_that_is_no_database_is_refused_and_not_changed(path: Path, content: bytes) -> None:
    """Whatever it is, it is somebody's."""
    path.write_bytes(content)
    with pytest.raises(StoreError, match="store-damaged"):
        Queue(path)
    assert path.read_bytes() == content


def test_many_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """One makes the tables, and none of the others takes it for somebody else's."""
    for number in range(10):
        path = tmp_path / f"{number}.db"
        with ThreadPoolExecutor(8) as threads:
            queues = list(threads.map(Queue, [path] * 8))
        assert len({queue.store.file for queue in queues}) == 1
        for queue in queues:
            queue.close()


def test_an_empty_file_becomes_a_queue(path: Path) -> None:
    """As temporary files are made before they are used."""
    path.touch()
    with Queue(path) as queue:
        assert queue.put(b"1")


def test_a_folder_that_is_not_there_is_an_error_of_the_store(tmp_path: Path) -> None:
    """And it is not made."""
    with pytest.raises(StoreError, match="store-not-opened"):
        Queue(tmp_path / "nowhere" / "queue.db")
    assert not (tmp_path / "nowhere").exists()


def test_the_dialect_of_the_keys_is_that_of_the_file(open_file: Open) -> None:
    """It need not be said again, and must not be said differently."""
    open_file(dialect="mqtt").close()
    queue = open_file()
    queue.put(b"1", "a/b")
    assert queue.pop("a/+") is not None
    with pytest.raises(StoreError, match="store-mismatch"):
        open_file(dialect="nats")
    assert queue.put(b"2", "a/b")


def test_a_file_of_version_4_loses_the_rows_of_ended_subscriptions_and_no_other(older: Path) -> None:
    """What is in it is delivered and retried as before; a new subscription gets a number that none had."""
    connection = apsw.Connection(str(older))
    connection.execute("DROP TABLE addressed")
    row = "INSERT INTO subscription (id, name, pattern, dialect, version, gone) VALUES (2, ?, '#', 'amqp', 3, 1)"
    connection.execute(row, ("ended\0002",))
    connection.execute("UPDATE control SET subscriptions = 3")
    connection.pragma("user_version", 4)
    connection.close()
    with Queue(older) as queue:
        assert [each.name for each in queue.subscriptions()] == ["all"]
        assert queue.subscribe("ended", "#").id == 4
        for name in (None, "all"):
            queue.ack_many(queue.pop_many(9, subscription=name))
        assert queue.status("one") == "done"
        assert queue.retry("one")
        assert queue.size("").ready == 1
    assert looked_at(older, "SELECT id FROM subscription ORDER BY id") == [(0,), (1,), (4,)]


def test_what_went_wrong_with_an_older_file_is_said_also_if_sqlite_has_undone_it(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not that there is nothing to undo."""
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, f"{STEP}; {UNDONE}"))
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    with pytest.raises(StoreError) as caught:
        Queue(older)
    assert caught.value.code == "store-failed"
    assert "UNIQUE constraint failed" in caught.value.problem
    monkeypatch.undo()
    with Queue(older) as queue:
        assert [message.id for message in queue.messages()] == ["one"]
