"""The readers as Spark calls them: damage, replays, takeovers and other hosts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from pointsman import Queue
from pointsman.errors import InputError, StoreError
from pointsman.pipeline.queue_source.reader import Part, QueueReader, QueueStreamReader
from pointsman.pipeline.queue_source.rows import MOST_BYTES
from pointsman.pipeline.queue_source.source import read_options
from tests.store.doctor.files import change

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

DAMAGE = {
    "a body": "UPDATE message SET body = x'00' WHERE sequence = 2",
    "a text that is none": "UPDATE message SET metadata = cast(x'ff' AS TEXT) WHERE sequence = 2",
    "a key that is none": "UPDATE message SET key = 99 WHERE sequence = 2",
    "a key that is no text": "UPDATE key SET text = cast(x'ff' AS TEXT) WHERE text = 'a.2'",
    "a number for a text": "UPDATE message SET id = 7 WHERE sequence = 2",
    "a message": "DELETE FROM message WHERE sequence = 2",
    "a body and a note": (
        "UPDATE message SET body = x'00' WHERE sequence = 2; "
        "UPDATE ready SET note = cast(x'ff' AS TEXT) WHERE sequence = 2"
    ),
}


def numbers(reader: Any, partitions: Any) -> list[int]:
    """The numbers of the messages in these parts."""
    return [number for each in partitions for batch in reader.read(each) for number in batch["sequence"].to_pylist()]


def stream(schema: StructType, path: Path, **options: object) -> QueueStreamReader:
    """A reader as a new process of Spark makes it."""
    return QueueStreamReader(read_options({"path": str(path), **{k: str(v) for k, v in options.items()}}), schema)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A queue of three messages."""
    with Queue(tmp_path / "queue.db") as queue:
        queue.put_many([(b"x", f"a.{number}") for number in (1, 2, 3)])
    return tmp_path / "queue.db"


@pytest.mark.parametrize("damage", [damage for damage in DAMAGE if damage != "a key that is none"])
def test_a_damaged_message_becomes_a_dead_letter_of_the_stream(
    schema: StructType, path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The others are delivered, also when the batch is replayed, and it is counted in the log."""
    change(path, DAMAGE[damage])
    reader = stream(schema, path)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    parts = reader.partitions(start, end)
    with caplog.at_level(logging.WARNING, "pointsman.pipeline"):
        assert numbers(reader, parts) == numbers(reader, parts) == [1, 3]
    assert [record.args for record in caplog.records] == [(str(path), 1)]
    reader.commit(end)
    reader.stop()
    with Queue(path) as queue:
        assert [letter.sequence for letter in queue.dead_letters()] == [2]
        assert queue.size("")[:4] == (0, 0, 0, 1)


@pytest.mark.parametrize("damage", [damage for damage in DAMAGE if damage != "a message"])
def test_a_damaged_message_fails_a_batch_unless_it_may_be_left_out(schema: StructType, path: Path, damage: str) -> None:
    """Nothing is missing without a word."""
    change(path, DAMAGE[damage])
    strict = QueueReader(read_options({"path": str(path)}), schema)
    with pytest.raises(StoreError, match="message 2 is not what was put") as refused:
        numbers(strict, strict.partitions())
    assert refused.value.code == "message-damaged"
    lenient = QueueReader(read_options({"path": str(path), "damaged": "skip", "pattern": "a.*"}), schema)
    assert numbers(lenient, lenient.partitions()) == [1, 3]


def test_a_batch_that_is_replayed_has_the_same_messages(schema: StructType, path: Path) -> None:
    """In a new process, whatever was put, delayed or popped meanwhile; the first batch has no other start."""
    reader = stream(schema, path, maxRows=2)
    start = reader.initialOffset()
    assert reader.getDefaultReadLimit() == ReadMaxRows(2)
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    first = numbers(reader, reader.partitions(start, end))
    reader.stop()
    with Queue(path) as queue:
        queue.put("urgent", "a", priority=1)
        assert queue.pop() is not None
    again = stream(schema, path, partitions=2)
    parts = again.partitions(again.initialOffset(), end)
    assert len(parts) == 2
    assert numbers(again, parts) == first == [1, 2]
    following = again.latestOffset(end, ReadAllAvailable())
    assert numbers(again, again.partitions(end, following)) == [3]
    assert again.latestOffset(following, ReadAllAvailable()) == following
    with Queue(path) as queue:
        assert queue.size("") == (0, 0, 1, 0, 3, 0), "the urgent message is with whoever popped it"
    again.stop()


def test_where_nothing_is_to_be_read_there_is_no_batch(schema: StructType, path: Path) -> None:
    """The start is given back as it is; a batch that other sources of the query made has no part of this one."""
    before = stream(schema, path)
    before.commit(before.latestOffset(before.initialOffset(), ReadAllAvailable()))
    before.stop()
    reader = stream(schema, path)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start == {"stream": "", "position": 3}
    assert reader.partitions(start, start) == []
    reader.commit(start)
    reader.stop()


def test_a_second_query_takes_the_subscription_over(schema: StructType, path: Path) -> None:
    """With what the first has not acknowledged; the first is told when it goes on."""
    first, second = stream(schema, path, maxRows=1), stream(schema, path)
    start = first.initialOffset()
    end = first.latestOffset(start, ReadMaxRows(1))
    first.commit(end)
    begin = second.initialOffset()
    through = second.latestOffset(begin, ReadAllAvailable())
    assert numbers(second, second.partitions(begin, through)) == [2, 3]
    with pytest.raises(StoreError) as over:
        first.latestOffset(end, ReadMaxRows(1))
    assert over.value.code == "stream-taken"
    first.stop()
    second.stop()


def test_a_subscription_is_made_with_what_was_stored_already(schema: StructType, path: Path) -> None:
    """From the number that was asked for on, by its pattern; another pattern for it is refused."""
    reader = stream(schema, path, subscription="s", pattern="a.#", start=2)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert numbers(reader, reader.partitions(start, end)) == [2, 3]
    reader.stop()
    with pytest.raises(StoreError) as refused:
        stream(schema, path, subscription="s", pattern="b.#").initialOffset()
    assert refused.value.code == "subscription-differs"
    with pytest.raises(InputError, match="needs a 'subscription'"):
        stream(schema, path, pattern="a.#")
    with pytest.raises(StoreError, match="no subscription 'nobody'"):
        stream(schema, path, subscription="nobody").latestOffset(start, ReadAllAvailable())


def test_pages_do_not_grow_with_the_bodies(schema: StructType, tmp_path: Path) -> None:
    """A record batch has about as much as fits, and a body that is larger alone."""
    path = tmp_path / "queue.db"
    sizes = [MOST_BYTES // 2, MOST_BYTES // 2, 10, MOST_BYTES + 1, 10]
    with Queue(path) as queue:
        queue.put_many([(bytes(size), "a") for size in sizes])
    reader = QueueReader(read_options({"path": str(path), "partitions": "1"}), schema)
    assert [batch.num_rows for each in reader.partitions() for batch in reader.read(each)] == [2, 2, 1]


def test_a_task_on_another_host_says_so(schema: StructType, path: Path, tmp_path: Path) -> None:
    """Whether it has no such file, another file of that name, or the same by a network file system."""
    reader = stream(schema, path)
    start = reader.initialOffset()
    (part,) = reader.partitions(start, reader.latestOffset(start, ReadAllAvailable()))
    assert isinstance(part, Part)
    with Queue(tmp_path / "other.db"):
        pass
    locations = [
        part.location._replace(path=str(tmp_path / "nowhere.db")),
        part.location._replace(path=str(tmp_path / "other.db")),
        part.location._replace(machine="another"),
    ]
    for location in locations:
        with pytest.raises(StoreError, match="SQLite works on one host only") as refused:
            numbers(reader, [Part(location, part.subscription, part.after, part.through)])
        assert refused.value.code == "queue-elsewhere"
    assert not (tmp_path / "nowhere.db").exists()
    reader.stop()
