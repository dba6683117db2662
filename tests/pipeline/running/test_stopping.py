"""A pipeline that is stopped from outside, or ended by one of its queries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from pointsman.errors import InputError
from pointsman.pipeline.batch import BatchRunner
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.follow import Follower
from pointsman.pipeline.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = "routes: [{name: all, pattern: '>', destinations: [desk]}]"
SAGA = "sagas: {order: {starts: [{on: orders.created, to: done}], states: {done: {final: true}}}}"
PIPELINE = """
table: table.yaml
source: {path: in}
trigger: {kind: interval, every: 200ms}
master: local[1]
spark: {spark.sql.shuffle.partitions: 1}
"""


def test_a_signal_to_all_processes_of_a_pipeline_is_a_stop_that_was_asked_for(tmp_path: Path) -> None:
    """As systemd and timeout send it, to Java too: the end is the documented one, without a word of complaint."""
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"subject": "a", "id": "1"}\n')
    command = [sys.executable, "-m", "pointsman", "run", str(tmp_path / "pipeline.yaml"), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if json.loads(line)["event"] == "started":
                break
        os.killpg(process.pid, signal.SIGTERM)
        said, errors = process.stdout.read(), process.stderr.read()
    assert (process.returncode, errors) == (0, "")
    assert json.loads(said.splitlines()[-1])["event"] == "stopped"


@pytest.mark.parametrize(("query", "part"), [("route", BatchRunner), ("follow", Follower)])
def test_a_pipeline_ends_with_the_error_of_the_first_query_that_fails(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, query: str, part: type
) -> None:
    """The other query, which would go on for ever, is stopped."""

    def fail(*_: object) -> None:
        raise OSError("the disk is on fire")

    monkeypatch.setattr(part, "__call__", fail)
    (tmp_path / "table.yaml").write_text(f"{TABLE}\n{SAGA}")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"subject": "orders.created", "id": "1"}\n')
    end = monotonic() + 60

    def watch(_: object, queries: list[Any]) -> None:
        assert monotonic() < end, "nobody notices"
        assert [each.name for each in queries] == ["route", "follow"]

    try:
        with pytest.raises(InputError, match=f"the query '{query}' failed.*the disk is on fire") as caught:
            run(PipelineFile.load(tmp_path / "pipeline.yaml"), lambda *_, **__: None, spark=spark, watch=watch)
        assert caught.value.code == "query-failed"
        assert spark.streams.active == []
    finally:
        for left in spark.streams.active:
            left.stop()
