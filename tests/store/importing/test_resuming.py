"""An import that is broken off, or started again: nothing is lost, and nothing is doubled."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pointsman.errors import StoreError
from pointsman.store.migrate import run
from pointsman.store.migrate.convert import Change
from pointsman.store.migrate.run import import_database
from pointsman.store.migrate.source import Source, Status
from pointsman.store.queue import Queue
from tests.store.importing.databases import changes, miniq


def test_an_import_that_ended_takes_only_what_came_since(tmp_path: Path) -> None:
    """Also from a copy of the file."""
    source = miniq(tmp_path / "miniq.db", [(str(number), "a", "x", 1, 5) for number in range(3)])
    with Queue(tmp_path / "queue.db") as queue:
        import_database(queue, source)
        with closing(sqlite3.connect(source)) as connection, connection:
            connection.execute("INSERT INTO messages VALUES ('new', 'a', 'x', 3, 5, 1, NULL, NULL)")
        copy = Path(shutil.copy(source, tmp_path / "copy.db"))
        report = import_database(queue, copy)
        assert (report.rows, report.already, report.read) == (4, 3, 1)
        assert report.statuses == {Status.LOCKED: 3, Status.FAILED: 1}
        assert changes(report) == {Change.LOCKED: (3, ("'0'", "'1'", "'2'"))}
        assert report.adds_up
        assert import_database(queue, source).read == 0
        assert queue.size().ready == 3


@pytest.mark.parametrize("deleted", ["0", "1", "2"])
def test_a_source_that_lost_what_was_taken_over_is_refused(tmp_path: Path, deleted: str) -> None:
    """For what came since may have taken the numbers of what is gone."""
    source = miniq(tmp_path / "miniq.db", [(str(number), "a", "x", 0, 5) for number in range(3)])
    with Queue(":memory:") as queue:
        import_database(queue, source)
        with closing(sqlite3.connect(source)) as connection, connection:
            connection.execute("DELETE FROM messages WHERE message_id = ?", (deleted,))
            connection.execute("INSERT INTO messages VALUES ('new', 'a', 'x', 0, 5, 1, NULL, NULL)")
        with pytest.raises(StoreError, match="source-changed"):
            import_database(queue, source)
        assert queue.size().ready == 3


def test_a_writer_in_the_midst_undoes_the_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read without a lock is stored only if nobody wrote; the next run takes the rest."""
    monkeypatch.setattr(run, "CHUNK", 10)
    source = miniq(tmp_path / "miniq.db", [(str(number), "a", "x", 0, 5) for number in range(25)])

    def disturb(done: int, total: int) -> None:
        if done == 10 and total == 25:
            with closing(sqlite3.connect(source)) as connection, connection:
                connection.execute("INSERT INTO messages VALUES ('new', 'a', 'x', 0, 5, 1, NULL, NULL)")

    with Queue(":memory:") as queue:
        with pytest.raises(StoreError, match="somebody has written to it while it was read"):
            import_database(queue, source, progress=disturb)
        assert queue.size().ready == 10
        report = import_database(queue, source)
        assert (report.already, report.read, queue.size().ready) == (10, 16, 26)


def test_two_imports_at_a_time_do_not_double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second notices that the first got further."""
    monkeypatch.setattr(run, "CHUNK", 10)
    source = miniq(tmp_path / "miniq.db", [(str(number), "a", "x", 0, 5) for number in range(25)])
    with Queue(tmp_path / "queue.db") as queue, Queue(tmp_path / "queue.db") as other:

        def meanwhile(done: int, total: int) -> None:
            if done == 10:
                assert import_database(other, source).read == total - done

        with pytest.raises(StoreError, match="another import of it is under way"):
            import_database(queue, source, progress=meanwhile)
        assert queue.size().ready == 25


def test_counts_that_do_not_agree_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite counts by itself, so that a mistake in the reading shows."""
    source = miniq(tmp_path / "miniq.db", [(str(number), "a", "x", 0, 5) for number in range(3)])
    rows = Source.rows
    monkeypatch.setattr(Source, "rows", lambda source, after=None: islice(rows(source, after), 2))
    with Queue(":memory:") as queue:
        report = import_database(queue, source)
    assert (report.rows, report.read, report.adds_up) == (3, 2, False)


ROWS = st.tuples(
    st.text(max_size=4),
    st.none() | st.text("ab.é\0'%_", max_size=6) | st.integers(200, 300).map(lambda length: "x" * length),
    st.text(max_size=5) | st.binary(max_size=5),
    st.integers(-1, 6),
    st.none() | st.integers(-2, 12),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(rows=st.lists(ROWS, max_size=12), chunk=st.integers(1, 5), stop=st.integers(0, 4))
def test_every_message_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[Any, ...]], chunk: int, stop: int
) -> None:
    """Whatever the source holds, and wherever it is broken off."""
    monkeypatch.setattr(run, "CHUNK", chunk)
    path = tmp_path / "miniq.db"
    path.unlink(missing_ok=True)
    source = miniq(path, rows)

    class StopError(Exception):
        pass

    def interrupt(done: int, total: int) -> None:
        if done >= stop * chunk and done < total:
            raise StopError

    with Queue(":memory:") as queue:
        try:
            import_database(queue, source, progress=interrupt)
        except StopError:
            assert queue.size().ready <= stop * chunk
        report = import_database(queue, source)
        stored = queue.messages()
    assert report.adds_up
    assert report.already + report.read == report.rows == len(rows)
    assert [message.data for message in stored] == [row[2] for row in rows]
    assert [message.metadata.get("id", message.id) for message in stored] == [row[0] for row in rows]
    assert [message.metadata.get("topic", message.routing_key) for message in stored] == [row[1] or "" for row in rows]
    assert all(message.is_whole for message in stored)
