"""A stream that breaks off, at the worst moments, goes on as if it had not: the state is in its checkpoint."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from pointsman import Message
from pointsman.pipeline import route
from pointsman.pipeline.state.batches import begin, load, record
from pointsman.pipeline.state.breakers import Outcome, report
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

TABLE = RoutingTable.parse("""
destinations:
  a: {breaker: {failures: 2, reset: 1000s, fallback: spare}}
  b:
  c:
  spare:
routes:
  - {name: turn, pattern: s, strategy: balanced, balance: round-robin, destinations: [a, b, c]}
  - name: share
    pattern: s
    strategy: balanced
    balance: weighted
    destinations: [{name: b, weight: 5}, {name: c, weight: 3}]
""")
SIZES = (3, 2, 4)
"""Of the batches; in the first of them the deliveries to ``a`` fail, which opens its breaker."""


class Interrupted(Exception):  # noqa: N818
    """The driver is gone."""


class Pipeline:
    """Decides batch after batch, and breaks off once at each of these places."""

    def __init__(self, checkpoint: Path, places: list[tuple[int, str]]) -> None:
        self.checkpoint = checkpoint
        self.places = places
        self.sent: dict[int, list[list[tuple[int, str, str]]]] = {}
        self.versions: list[tuple[int, object]] = []

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        """Decides a batch, as a driver does it."""
        self.versions.append((batch_id, begin(self.checkpoint, batch_id, {"attempt": len(self.versions)})["attempt"]))
        state = load(self.checkpoint, batch_id)
        routed = route(batch, TABLE, state=state, now=batch_id, seed=batch_id)
        rows = [(row.position, row.route, row.destination) for row in routed.deliveries.collect()]
        self.sent.setdefault(batch_id, []).append(sorted(rows))
        self.at(batch_id, "sent")
        failed = sum(destination == "a" for *_, destination in rows)
        outcomes = {"a": Outcome(failed=2 * failed)}
        after = report(TABLE, routed.state(), outcomes, asked=batch_id, now=batch_id)
        record(self.checkpoint, batch_id, after, {})
        self.at(batch_id, "recorded")

    def at(self, batch_id: int, moment: str) -> None:
        """Breaks off here if it is to."""
        if (batch_id, moment) in self.places:
            self.places.remove((batch_id, moment))
            raise Interrupted(moment)


def test_a_stream_that_breaks_off_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    """Before and after the state is recorded; a batch that is replayed goes the same way with the same versions."""
    source, checkpoint = tmp_path / "source", tmp_path / "checkpoint"
    source.mkdir()
    for number, size in enumerate(SIZES):
        rows = [{"subject": "s", "position": place} for place in range(size)]
        path = source / f"{number}.json"
        path.write_text("\n".join(json.dumps(row) for row in rows))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    pipeline = Pipeline(checkpoint, [(0, "recorded"), (1, "sent")])
    for attempt in range(3):
        stream = spark.readStream.schema("subject string, position bigint").option("maxFilesPerTrigger", 1)
        writer = stream.json(str(source)).writeStream.foreachBatch(pipeline).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(checkpoint)).start()
        if attempt < 2:
            with pytest.raises(StreamingQueryException, match="Interrupted"):
                query.awaitTermination()
        else:
            query.awaitTermination()
    assert {batch: len(tries) for batch, tries in pipeline.sent.items()} == {0: 2, 1: 2, 2: 1}
    assert all(tries[0] == tries[-1] for tries in pipeline.sent.values())
    assert pipeline.versions == [(0, 0), (0, 0), (1, 2), (1, 2), (2, 4)]
    assert {batch: tries[-1] for batch, tries in pipeline.sent.items()} == in_one_process()


def in_one_process() -> dict[int, list[tuple[int, str, str]]]:
    """What decide says to the same messages, when results are told after each batch."""
    state = State()
    found = {}
    for batch_id, size in enumerate(SIZES):
        rows = []
        for position in range(size):
            decision = TABLE.decide(Message("s"), state, now=batch_id)
            rows += [(position, each.route, each.destination) for each in decision.deliveries]
            state = decision.state
        failed = sum(destination == "a" for *_, destination in rows)
        state = report(TABLE, state, {"a": Outcome(failed=2 * failed)}, asked=batch_id, now=batch_id)
        found[batch_id] = sorted(rows)
    assert any(destination == "spare" for rows in found.values() for *_, destination in rows)
    return found
