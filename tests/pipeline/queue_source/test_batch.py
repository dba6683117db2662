"""Whole queues as DataFrames, and DataFrames as messages, on Spark."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from pointsman import Queue
from pointsman.pipeline.queue_source import register

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

HOSTILE: list[dict[str, Any]] = [
    {"subject": "plain", "body": b"x"},
    {"subject": "", "body": b"", "id": "empty"},
    {"subject": "zero.bytes", "body": bytes(range(256)), "id": "\0", "metadata": {"\0": "\0", "": ""}},
    {"subject": "größe.語.🚂", "body": "🚂".encode(), "id": "🚂" * 255, "metadata": {"'\"\\;--": '{"a": [1]}'}},
    {"subject": "large", "body": b"\xff" * 3_000_000, "id": "large", "metadata": {"k": "v" * 60_000}},
    {"subject": "first", "body": b"1", "priority": 1, "delivery_id": "delivery", "id": "message"},
    {"subject": "year.one", "body": b"", "id": "1", "time": -62_135_596_800_000_000, "source": "shop"},
    {"subject": "last.year", "body": b"", "id": "9999", "time": 253_402_300_799_999_999, "content_type": "text/plain"},
    {"subject": "linked", "body": b"", "id": "2", "correlation_id": "c", "causation_id": "", "time": 1},
]
ARROW = pa.schema(
    {
        "subject": pa.string(),
        "body": pa.binary(),
        "id": pa.string(),
        "delivery_id": pa.string(),
        "metadata": pa.map_(pa.string(), pa.string()),
        "priority": pa.int32(),
        "content_type": pa.string(),
        "time": pa.timestamp("us", "UTC"),
        "source": pa.string(),
        "correlation_id": pa.string(),
        "causation_id": pa.string(),
    }
)


def write(frame: DataFrame, path: Path, **options: object) -> None:
    """Appends messages to a queue."""
    frame.write.format("pointsman").mode("append").options(**options).save(str(path))  # type: ignore[arg-type]


def read(spark: SparkSession, path: Path, **options: object) -> DataFrame:
    """What a queue holds."""
    return spark.read.format("pointsman").options(**options).load(str(path))  # type: ignore[arg-type]


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows by their numbers, with times in microseconds: Python cannot show all of them in local time."""
    table = frame.orderBy("sequence").toArrow()
    if "time" in table.column_names:
        place = table.column_names.index("time")
        table = table.set_column(place, "time", table["time"].cast(pa.int64()))
    found: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")
    return found


def expected(number: int, row: dict[str, Any], put: Queue) -> dict[str, Any]:
    """What must be read of a row that was written."""
    stored = put.messages(number - 1, 1)[0]
    has_envelope = any(row.get(name) is not None for name in ("content_type", "time", "source", "correlation_id"))
    id = row.get("delivery_id", row.get("id", f"{put.store.file}-{number}"))
    return {
        "sequence": number,
        "id": id,
        "subject": row["subject"],
        "body": row["body"],
        "metadata": row.get("metadata", {}),
        "content_type": row.get("content_type"),
        "time": row.get("time") if has_envelope else stored.time,
        "source": row.get("source", "pointsman"),
        "correlation_id": row.get("correlation_id") if has_envelope else id,
        "causation_id": row.get("causation_id"),
        "priority": row.get("priority", 5),
        "attempts": 0,
    }


def test_every_column_comes_back_as_it_was_written(known: SparkSession, tmp_path: Path) -> None:
    """Whatever is in it; and a queue that was read can be written to another, in which it is the same."""
    path, other = tmp_path / "queue.db", tmp_path / "other.db"
    table = pa.Table.from_pylist([{name: row.get(name) for name in ARROW.names} for row in HOSTILE], ARROW)
    write(known.createDataFrame(table).coalesce(1), path)
    found = read(known, path, partitions=3)
    with Queue(path) as queue:
        assert rows(found) == [expected(number, row, queue) for number, row in enumerate(HOSTILE, 1)]
        # The broker and everybody else see the same messages.
        assert [message.is_whole for message in queue.messages()] == [True] * len(HOSTILE)
        assert queue.messages()[7].message.content_type == "text/plain"
    write(found.orderBy("sequence").coalesce(1), other)
    assert rows(read(known, other)) == rows(found)
    assert not Path(f"{path}-staging").exists()


def test_a_part_of_a_queue_is_read(known: SparkSession, tmp_path: Path) -> None:
    """By numbers and pattern; of one DataFrame that is used several times, each use has its own filter."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.put_many([(b"%d" % number, f"a.{number % 3}") for number in range(1, 101)])
    narrowed = {
        range(11, 21): read(known, path, start=11, end=20, partitions=3),
        range(98, 101): read(known, path, start=98, end=1000),
        range(0): read(known, path, start=101),
        range(1, 10, 3): read(known, path, pattern="a.1", end=9),
    }
    everything = read(known, path)
    filtered = {range(7, 8): "sequence = 7", range(2, 101, 3): "subject = 'a.2'", range(1, 6): "sequence < 6"}
    cases = narrowed | {numbers: everything.where(text) for numbers, text in filtered.items()}
    union = reduce(
        DataFrame.union, (frame.selectExpr(f"{case} as case", "sequence") for case, frame in enumerate(cases.values()))
    )
    found = [sorted(row.sequence for row in union.collect() if row.case == case) for case in range(len(cases))]
    assert found == [[*numbers] for numbers in cases]


def test_what_is_ready_for_a_subscription_is_read_and_not_taken(known: SparkSession, tmp_path: Path) -> None:
    """In all priorities, by a pattern if one is given, and with as many columns as were asked for."""
    path = tmp_path / "queue.db"
    with Queue(path) as queue:
        queue.subscribe("some", "a.#")
        for number in range(1, 8):
            queue.put(f"{number}", "a.b" if number % 2 else "c.d", priority=number, delay=60 if number == 5 else None)
        queue.ack_many(queue.pop_many(1, subscription="some"))
        queue.pop()
        sizes = queue.size()
    columns = ["sequence", "body"]
    some = read(known, path, subscription="some", partitions=2).select(columns)
    main = read(known, path, subscription="", pattern="c.*").select(columns)
    assert [tuple(row) for row in some.orderBy("sequence").collect()] == [(3, b"3"), (7, b"7")]
    assert [tuple(row) for row in main.orderBy("sequence").collect()] == [(2, b"2"), (4, b"4"), (6, b"6")]
    few = known.read.format("pointsman").schema("subject string, sequence bigint").load(str(path))
    assert [tuple(row) for row in few.where("sequence < 3").orderBy("sequence").collect()] == [("a.b", 1), ("c.d", 2)]
    with Queue(path) as queue:
        assert queue.size() == sizes


def test_a_batch_of_a_query_is_written_once(known: SparkSession, tmp_path: Path) -> None:
    """As from ``foreachBatch``, which Spark may call again for the same batch."""
    path = tmp_path / "queue.db"
    frame = known.range(4).selectExpr("concat('n.', id) as subject", "cast(id as string) as body")
    for batch in (0, 0, 1, 0):
        write(frame, path, query="mine", batch=batch)
    with Queue(path) as queue:
        assert sorted(message.data for message in queue.messages()) == sorted(["0", "1", "2", "3"] * 2)


def test_what_cannot_be_is_told(known: SparkSession, tmp_path: Path) -> None:
    """With the code of the error, and nothing is written."""
    path = tmp_path / "queue.db"
    good = known.range(3).selectExpr("'a' as subject", "cast(id as string) as body")
    cases = {
        "[bad-usage] there is no option 'pth'": lambda: read(known, path, pth=1).collect(),
        f"[store-not-opened] {path}: there is no such file": lambda: read(known, path).collect(),
        "[bad-usage] messages can only be appended": lambda: (
            good.write.format("pointsman").mode("overwrite").save(str(path))
        ),
        "[bad-usage] there is no column 'subject'": lambda: write(good.drop("subject"), path),
        "[bad-usage] the queue has no place for the column 'x'": lambda: write(good.selectExpr("*", "1 as x"), path),
        "[bad-usage] the column 'body' holds int": lambda: write(good.selectExpr("subject", "1 as body"), path),
        "[bad-message] row 2 of a batch, subject None": lambda: write(
            good.selectExpr("if(body = '2', null, subject) as subject", "body").coalesce(1), path
        ),
    }
    for problem, act in cases.items():
        with pytest.raises(PySparkException) as refused:
            act()
        assert problem in str(refused.value)
    register(known)
    with Queue(path) as queue:
        assert queue.messages() == []
    assert not Path(f"{path}-staging").exists()
