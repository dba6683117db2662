"""The benchmark of the pipeline, run on Spark with very little: its stages do what they are measured for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pointsman.bench import pipeline as bench
from pointsman.bench.pipeline_data import DIALECT, subscription_patterns, write_messages
from pointsman.bench.pipeline_rows import (
    COLUMN,
    DISTINCT,
    GATHERINGS,
    NAIVE,
    REPEATED,
    RESOLVE,
    ROUTE,
    ROWS,
    SAGAS,
    SCAN,
    StateRow,
)
from pointsman.bench.pipeline_stages import five_strategies
from pointsman.bench.pipeline_state import StatePlan
from pointsman.bench.pipeline_stream import Batches
from pointsman.bench.subjects import streams
from pointsman.cli import bench as command
from pointsman.cli.bench_pipeline_tables import tables
from pointsman.matching.compiled import CompiledIndex
from pointsman.message import Message
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TINY = bench.Plan(400, (300,), (300,), 1, 1, ((300, 20),), 300, (Batches(50, 3),), StatePlan(40, 3, buckets=2))


@pytest.fixture(scope="module")
def measured(spark: SparkSession) -> dict[str, Sequence[Any]]:
    """Of a tiny run."""
    return bench.run_plan(TINY, spark)


def test_every_stage_is_measured_on_both_streams(measured: dict[str, Sequence[Any]]) -> None:
    """And the naive join on few messages."""
    plain = [(name, None) for name in (SCAN, ROWS, COLUMN)]
    stages = [*plain, (RESOLVE, 300), (ROUTE, 300)]
    expected = [(name, size, stream) for name, size in stages for stream in (REPEATED, DISTINCT)]
    assert [(row.stage, row.subscriptions, row.stream) for row in measured["rows"]] == expected
    assert [(row.stage, row.subscriptions, row.messages) for row in measured["naive"]] == [(NAIVE, 300, 20)]
    assert all(row.seconds > 0 and (row.cpu_seconds or 1) > 0 for row in measured["rows"])


def test_as_many_rows_come_out_as_the_index_and_decide_say(measured: dict[str, Sequence[Any]], tmp_path: Path) -> None:
    """Resolve one for each match, route one for each delivery or message without one, the others one each."""
    messages = streams(TINY.messages)
    patterns = subscription_patterns(300, messages.repeated)
    index, table = CompiledIndex.build(patterns, DIALECT), five_strategies(patterns.to_pylist())
    for row in measured["rows"]:
        subjects = getattr(messages, row.stream)
        if row.stage == RESOLVE:
            assert row.rows_out == pc.sum(index.count(subjects)).as_py()
        elif row.stage == ROUTE:
            write_messages(tmp_path / row.stream, subjects)
            assert row.rows_out == _decided(table, tmp_path / row.stream)
        else:
            assert row.rows_out == row.messages == TINY.messages


def test_streams_and_states_are_watched_for_all_their_batches(measured: dict[str, Sequence[Any]]) -> None:
    """Each with as many messages as it was to have."""
    found = [(row.stage, row.subscriptions, row.batch, row.batches) for row in measured["streams"]]
    assert found == [(name, 300, 50, 3) for name in (RESOLVE, ROUTE)]
    states: Sequence[StateRow] = measured["state"]
    assert [(row.what, row.keys, row.events) for row in states] == [(SAGAS, 40, 40), (GATHERINGS, 40, 60)]
    assert all(len(row.seconds) == 3 and row.keys_per_second > 0 for row in states)


def test_the_results_are_shown_drawn_and_printed_as_json(
    measured: dict[str, Sequence[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line for each row, with the same numbers."""
    monkeypatch.setattr(bench, "run", lambda _quick, _progress: measured)
    command.pipeline(quick=True, plot=tmp_path / "pipeline.png")
    shown = capsys.readouterr().out
    assert all(table.title in shown for table in tables(measured))
    assert (tmp_path / "pipeline.png").read_bytes().startswith(b"\x89PNG")
    command.pipeline(json=True)
    printed = json.loads(capsys.readouterr().out)
    assert [row["rows_out"] for row in printed["rows"]] == [row.rows_out for row in measured["rows"]]
    assert {row["what"] for row in printed["state"]} == {SAGAS, GATHERINGS}


def _decided(table: RoutingTable, folder: Path) -> int:
    """The rows that ``decide`` would give for the messages of a folder."""
    rows = pq.read_table(folder).to_pylist()
    decisions = [table.decide(Message(row["subject"], row["body"], metadata=dict(row["metadata"]))) for row in rows]
    return sum(max(len(decision.deliveries), 1) for decision in decisions)
