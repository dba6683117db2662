"""Streams from and to queues, on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pointsman import Queue
from pointsman.pipeline.queue_source import register

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def run(frame: DataFrame, target: Path, checkpoint: Path) -> StreamingQuery:
    """Writes what is available now to a queue."""
    writer = frame.writeStream.format("pointsman").option("path", str(target))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


def texts(path: Path) -> list[str]:
    """What a queue holds, in its order."""
    with Queue(path) as queue:
        return [message.body.decode() for message in queue.messages()]


def test_a_stream_has_batches_of_the_size_that_was_asked_for(known: SparkSession, tmp_path: Path) -> None:
    """All messages come once, are acknowledged, and the next run goes on from the checkpoint."""
    source, target, checkpoint = tmp_path / "source.db", tmp_path / "target.db", tmp_path / "checkpoint"
    with Queue(source) as queue:
        queue.put_many([(f"{number}", "a.b") for number in range(100)])
        queue.put("other", "c")
    reader = known.readStream.format("pointsman").option("path", str(source)).option("subscription", "stream")
    frame = reader.options(pattern="a.#", start=1, maxRows=40, partitions=2).load()
    query = run(frame, target, checkpoint)
    assert [progress.numInputRows for progress in query.recentProgress] == [40, 40, 20]
    with Queue(source) as queue:
        assert queue.size("stream")[:4] == (0, 0, 0, 0)
        queue.put("urgent", "a", priority=1)
        queue.put_many([(f"{number}", "a.b") for number in range(100, 110)])
    query = run(frame, target, checkpoint)
    assert sum(progress.numInputRows for progress in query.recentProgress) == 11
    assert sorted(texts(target)) == sorted([*map(str, range(110)), "urgent"])
    with Queue(source) as queue:
        assert queue.size("stream")[:4] == (0, 0, 0, 0)
        assert queue.size("")[0] == 112, "the queue itself has its own copies"


def test_a_batch_that_spark_replays_is_written_once(known: SparkSession, tmp_path: Path) -> None:
    """As after a kill between the end of a batch and the note of it in the checkpoint."""
    files, target, checkpoint = tmp_path / "files", tmp_path / "target.db", tmp_path / "checkpoint"
    files.mkdir()
    (files / "one.txt").write_text("1\n2\n3\n")
    frame = known.readStream.text(str(files)).selectExpr("'a' as subject", "value as body")
    run(frame, target, checkpoint)
    (checkpoint / "commits" / "0").unlink()
    (checkpoint / "commits" / ".0.crc").unlink(missing_ok=True)
    (files / "two.txt").write_text("4\n")
    query = run(frame, target, checkpoint)
    assert [progress.numInputRows for progress in query.recentProgress] == [3, 1]
    assert texts(target) == ["1", "2", "3", "4"]


@pytest.mark.classic
def test_streams_that_begin_together_change_nothing_that_the_other_may_be_sending(
    known: SparkSession, tmp_path: Path
) -> None:
    """What Spark sets when a stream begins is there from the beginning: its mapping is shared, and must not grow."""
    register(known)
    manager = known._jsparkSession.sessionState().dataSourceManager()
    names = set(manager.lookupDataSource("pointsman").dataSourceCls().envVars())
    assert not names.intersection(known.sparkContext.environment) - {"PYTHONHASHSEED"}
    with Queue(tmp_path / "source.db") as queue:
        queue.put("1", "a")
    run(known.readStream.format("pointsman").load(str(tmp_path / "source.db")), tmp_path / "to.db", tmp_path / "at")
    assert texts(tmp_path / "to.db") == ["1"]
    assert set(manager.lookupDataSource("pointsman").dataSourceCls().envVars()) == names
