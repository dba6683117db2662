"""Sagas and gatherings together, by the time of the batches, and what cannot be followed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pointsman import RoutingTable
from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.pipeline.correlation import follow
from tests.pipeline.correlation.streams import Stream

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

IDLE = "spark.sql.streaming.noDataMicroBatches.enabled"
PATIENCE = 60.0
TABLE = RoutingTable.parse(
    """
    routes:
      - name: prices
        pattern: prices.ask
        strategy: scatter-gather
        when: body.urgent
        gather: {timeout: 10ms, answers: prices.answer}
        destinations: [one, two]
    sagas:
      visit:
        starts: [{event: came, to: inside}]
        states:
          inside:
            edges: [{event: left, to: gone}]
            timeout: {after: 0.01, to: asked, send: [{subject: guard.ask, metadata: {kind: visit}}]}
          asked: {edges: [{event: left, to: gone}]}
          gone: {final: true}
    """
)


def test_timeouts_are_taken_by_the_clock_when_nothing_comes_for_them(spark: SparkSession, tmp_path: Path) -> None:
    """Of a saga whose events have names, and of a gathering whose route asks for more than a subject; after the stream
    has ended, which it does if it need not wait for timeouts.
    """
    running = Stream(spark, tmp_path, lambda messages: follow(messages, TABLE, buckets=2))
    came = Message("door.front", id="1", correlation_id="7", metadata={"event": "came"}, body=b"a guest")
    running.add(
        [
            came,
            came,
            Message("prices.ask", b'{"urgent": true}', id="2", correlation_id="8"),
            Message("prices.ask", b'{"urgent": false}', id="3", correlation_id="9"),
            Message("door.front", id="4", correlation_id="7"),
        ]
    )
    spark.conf.set(IDLE, "false")
    try:
        assert len(running.run()) == 3
    finally:
        spark.conf.unset(IDLE)
    running.add([Message("some.thing", id="5")])
    started = running.writer().trigger(processingTime="100 milliseconds").start(str(running.sink))
    try:
        deadline = time.monotonic() + PATIENCE
        while len(rows := running.rows()) < 6 and time.monotonic() < deadline:
            time.sleep(0.2)
    finally:
        started.stop()
    rows.sort(key=lambda row: (row["time"], row["number"]))
    seen: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        seen.setdefault(row["correlation_id"], []).append(
            (row["kind"], row["outcome"], row["subject"], row["causation_id"])
        )
    assert seen == {
        "7": [
            ("move", "moved", None, "1"),
            ("move", "ignored", None, "1"),
            ("command", None, "guard.ask", None),
            ("move", "moved", None, None),
        ],
        "8": [("request", "asked", None, "2"), ("result", "timeout", None, None)],
    }
    [command] = [row for row in rows if row["kind"] == "command"]
    assert command["metadata"] == {"kind": "visit", "saga": "visit"}


@pytest.mark.parametrize(
    ("columns", "options", "problem"),
    [
        ("subject string", {}, "messages have no column 'id'"),
        ("id string", {}, "messages have no column 'subject'"),
        ("subject string, id string", {"time_mode": "eventTime"}, "messages have no column 'time'"),
        ("subject string, id string", {"time_mode": "None"}, "time_mode is 'None'"),
        ("subject string, id string", {"buckets": 0}, "buckets is 0, not a whole number from 1"),
        ("subject string, id string, body int", {}, "'body' of messages is int"),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, columns: str, options: Any, problem: str
) -> None:
    """Before anything runs."""
    messages = spark.readStream.schema(columns).json(str(tmp_path))
    with pytest.raises(InputError, match=problem) as caught:
        follow(messages, TABLE, **options)
    assert caught.value.code == "bad-usage"


def test_what_is_no_stream_is_refused(spark: SparkSession) -> None:
    """There would be no second batch to keep states for."""
    with pytest.raises(InputError, match="messages are no stream"):
        follow(spark.createDataFrame([], "subject string, id string"), TABLE)
