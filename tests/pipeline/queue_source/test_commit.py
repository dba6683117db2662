"""What tasks have left is put into the queue exactly once, whenever the driver is stopped."""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pointsman import Queue
from pointsman.errors import PointsmanError, StoreError
from pointsman.patterns.dialect import find_dialect
from pointsman.pipeline.queue_source import commit as committed
from pointsman.pipeline.queue_source.commit import abandon, commit, finish, stage
from pointsman.pipeline.queue_source.rows import Checker

CHECK = Checker(find_dialect("amqp"), 1000).check


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    """The queue that is written to."""
    with Queue(tmp_path / "queue.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Where tasks leave what they write."""
    return str(tmp_path / "staging")


def rows(*bodies: str, **columns: list[Any]) -> pa.RecordBatch:
    """A record batch of messages."""
    given = {"subject": ["a"] * len(bodies), "body": [body.encode() for body in bodies], **columns}
    return pa.RecordBatch.from_pydict(given)


def left(folder: str, query: str, number: int, *batches: pa.RecordBatch) -> list[str]:
    """The name of the file of a task."""
    name = stage(folder, query, number, batches, CHECK)
    assert name is not None
    return [name]


def bodies(queue: Queue) -> list[str]:
    """What is in the queue."""
    return [message.body.decode() for message in queue.messages()]


class Killed(BaseException):
    """The end of the process."""


@contextmanager
def broken_off(monkeypatch: pytest.MonkeyPatch, transactions: int = 0) -> Iterator[None]:
    """The process ends in the middle of the transaction after these that put something."""
    real = committed._put
    count = 0

    def put(*given: Any, **named: Any) -> bool:
        nonlocal count
        count += 1
        done = real(*given, **named)
        if count > transactions:
            raise Killed
        return done

    with monkeypatch.context() as patch:
        patch.setattr(committed, "_put", put)
        with pytest.raises(Killed):
            yield


def test_a_batch_is_written_once(queue: Queue, folder: str) -> None:
    """One that is replayed leaves nothing behind, neither in the queue nor in the folder."""
    for _ in range(2):
        commit(queue.store, folder, "query", 0, left(folder, "query", 0, rows("1", "2")))
    assert bodies(queue) == ["1", "2"]
    assert commit(queue.store, folder, "query", 1, left(folder, "query", 1, rows("3")))
    assert commit(queue.store, folder, "other", 0, left(folder, "other", 0, rows("4")))
    assert bodies(queue) == ["1", "2", "3", "4"]
    assert not Path(folder).exists()


def test_a_write_without_a_batch_is_never_the_same(queue: Queue, folder: str) -> None:
    """Who writes twice has it twice."""
    for name in ("first", "second"):
        commit(queue.store, folder, name, None, left(folder, name, 0, rows("1")))
    assert bodies(queue) == ["1", "1"]


@pytest.mark.parametrize("transactions", [0, 1, 2])
def test_what_was_broken_off_is_gone_on_with(
    queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch, transactions: int
) -> None:
    """The replay of the batch puts the rest of what was decided, not what it has computed anew."""
    monkeypatch.setattr(committed, "MOST_ROWS", 2)
    first = left(folder, "query", 7, rows("1", "2"), rows("3", "4"), rows("5"))
    with broken_off(monkeypatch, transactions):
        commit(queue.store, folder, "query", 7, first)
    assert len(bodies(queue)) == 2 * transactions
    assert not commit(queue.store, folder, "query", 7, left(folder, "query", 7, rows("other")))
    assert bodies(queue) == ["1", "2", "3", "4", "5"]
    assert not Path(folder).exists()


def test_another_query_goes_on_with_it_as_well(queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was decided gets into the queue though its program never comes back."""
    with broken_off(monkeypatch):
        commit(queue.store, folder, "gone", None, left(folder, "gone", 0, rows("1")))
    commit(queue.store, folder, "query", 0, left(folder, "query", 0, rows("2")))
    assert bodies(queue) == ["1", "2"]


def test_a_write_whose_files_are_gone_does_not_hold_up_others(
    queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its own query is told."""
    names = left(folder, "gone", 0, rows("1"))
    with broken_off(monkeypatch):
        commit(queue.store, folder, "gone", 0, names)
    (Path(folder) / names[0]).unlink()
    assert commit(queue.store, folder, "query", 0, left(folder, "query", 0, rows("2")))
    with pytest.raises(StoreError) as missing:
        commit(queue.store, folder, "gone", 1, left(folder, "gone", 1, rows("3")))
    assert missing.value.code == "queue-elsewhere"
    assert bodies(queue) == ["2"]


def test_two_who_go_on_with_one_write_put_it_once(queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each transaction looks how far the other has come."""
    monkeypatch.setattr(committed, "MOST_ROWS", 1)
    with broken_off(monkeypatch):
        commit(queue.store, folder, "query", 0, left(folder, "query", 0, *map(rows, "123456")))
    real = committed._groups

    def groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        for number, group in enumerate(real(batches)):
            if number == 2:
                with Queue(queue.store.path) as other:
                    monkeypatch.setattr(committed, "_groups", real)
                    finish(other.store, "query")
            yield group

    monkeypatch.setattr(committed, "_groups", groups)
    finish(queue.store, "query")
    assert bodies(queue) == list("123456")


def test_a_group_of_a_finished_write_is_not_put_into_the_next_one(
    queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query has begun its next write before who helped it with the one before gets to put its group."""
    with broken_off(monkeypatch):
        commit(queue.store, folder, "query", 0, left(folder, "query", 0, rows("1")))
    real = committed._groups

    def groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        found = list(real(batches))
        monkeypatch.setattr(committed, "_groups", real)
        with Queue(queue.store.path) as other:
            finish(other.store, "query")
            with broken_off(monkeypatch):
                commit(other.store, folder, "query", 1, left(folder, "query", 1, rows("2")))
        yield from found

    monkeypatch.setattr(committed, "_groups", groups)
    commit(queue.store, folder, "helper", 0, left(folder, "helper", 0, rows("3")))
    assert bodies(queue) == ["1", "2", "3"]


def test_files_that_went_because_they_were_put_are_no_alarm(
    queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two queries of one pipeline write to one queue, and each looks what the other has left."""
    with broken_off(monkeypatch):
        commit(queue.store, folder, "query", 0, left(folder, "query", 0, rows("1")))
    real = committed.staged

    def staged(*given: Any) -> Iterator[pa.RecordBatch]:
        monkeypatch.setattr(committed, "staged", real)
        with Queue(queue.store.path) as other:
            finish(other.store, "query")
        return real(*given)

    monkeypatch.setattr(committed, "staged", staged)
    commit(queue.store, folder, "helper", 0, left(folder, "helper", 0, rows("2")))
    assert bodies(queue) == ["1", "2"]
    assert not caplog.records


def texts(query: str, batch: int) -> list[str]:
    """What a query commits with a batch."""
    return [f"{query}/{batch}/{number}" for number in range(800)]


def commit_many(path: Path, folder: str, query: str, together: Any) -> None:
    """Commits writes one after the other, each of several groups."""
    committed.MOST_ROWS = 200
    together.wait()
    with Queue(path) as queue:
        for batch in range(50):
            found = texts(query, batch)
            parts = [rows(*found[start : start + 100]) for start in range(0, len(found), 100)]
            commit(queue.store, folder, query, batch, left(folder, query, batch, *parts))


def test_what_two_processes_commit_back_to_back_is_all_there_once(queue: Queue, folder: str, tmp_path: Path) -> None:
    """Each goes on with what the other has just begun."""
    context = multiprocessing.get_context("spawn")
    queries = ("first", "second")
    given = (tmp_path / "queue.db", folder)
    together = context.Barrier(2)
    processes = [context.Process(target=commit_many, args=(*given, each, together)) for each in queries]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    found = Counter(message.body.decode() for message in queue.messages(limit=1_000_000))
    assert found == Counter(text for query in queries for batch in range(50) for text in texts(query, batch))


def test_a_failed_write_is_thrown_away_unless_it_was_decided(
    queue: Queue, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark says that a write has failed when its commit did, and that may be after the decision."""
    undecided, decided = left(folder, "first", 0, rows("1")), left(folder, "second", 0, rows("2"))
    with broken_off(monkeypatch):
        commit(queue.store, folder, "second", 0, decided)
    abandon(queue.store, folder, [*undecided, *decided])
    assert sorted(path.name for path in Path(folder).iterdir()) == decided


def test_old_files_of_killed_programs_are_removed(queue: Queue, folder: str) -> None:
    """Those of the last days may belong to a program that is still running."""
    old, young = left(folder, "old", 0, rows("1")), left(folder, "young", 0, rows("2"))
    os.utime(Path(folder, old[0]), (0, 0))
    commit(queue.store, folder, "query", 0, [])
    assert sorted(path.name for path in Path(folder).iterdir()) == young


def test_the_same_id_is_put_once(queue: Queue, folder: str) -> None:
    """By the queue's own rule, within a batch and between queries; the delivery's id before the message's."""
    batch = rows("1", "2", "3", id=["m", "m", "m"], delivery_id=["m:a", "m:b", "m:a"])
    commit(queue.store, folder, "query", 0, left(folder, "query", 0, batch))
    commit(queue.store, folder, "other", 0, left(folder, "other", 0, batch))
    assert [(message.id, message.body) for message in queue.messages()] == [("m:a", b"1"), ("m:b", b"2")]


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("subject", None, "bad-message"),
        ("subject", "a" * 256, "too-long"),
        ("body", b"x" * 1001, "too-large"),
        ("priority", 11, "bad-message"),
        ("delay", -1.0, "bad-message"),
        ("expires", float("nan"), "bad-message"),
        ("id", "", "bad-message"),
        ("metadata", {"key": None}, "bad-message"),
    ],
)
def test_a_row_that_cannot_be_put_fails_before_anything_is_decided(
    folder: str, column: str, value: Any, code: str
) -> None:
    """The task raises, names the row, and leaves no file."""
    schema = pa.schema({"subject": pa.string(), "body": pa.binary()})
    types = {"priority": pa.int32(), "delay": pa.float64(), "expires": pa.float64(), "id": pa.string()}
    kind = types.get(column) or (pa.map_(pa.string(), pa.string()) if column == "metadata" else None)
    if kind is not None:
        schema = schema.append(pa.field(column, kind))
    good: dict[str, Any] = {"subject": "a", "body": b"", "priority": 5, "id": "i", "metadata": {}}
    made = [{**good, "id": "first"}, {**good, column: value}]
    batch = pa.RecordBatch.from_pylist([{name: row.get(name) for name in schema.names} for row in made], schema)
    with pytest.raises(PointsmanError, match="row 1 of a batch") as refused:
        stage(folder, "query", 0, [batch], CHECK)
    assert refused.value.code == code
    assert not Path(folder).exists() or not list(Path(folder).iterdir())


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """As on a host that does not have the file system of the queue."""
    with pytest.raises(StoreError) as refused:
        stage(str(tmp_path / "not" / "there"), "query", 0, [rows("1")], CHECK)
    assert refused.value.code == "queue-elsewhere"
