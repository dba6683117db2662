"""How many Spark jobs a micro-batch costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.run import run
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.classic]

TABLE = """
destinations: {desk: , mail-1: , mail-2: , lines: , archive: {type: queue, options: {path: archive.db}}}
routes:
  - {name: desk, pattern: "orders.>", strategy: content, when: "body.amount > 5", destinations: [desk]}
  - {name: mail, pattern: "mail.*", strategy: balanced, balance: round-robin, destinations: [mail-1, mail-2]}
  - {name: elsewhere, pattern: "elsewhere.*", destinations: [lines, archive]}
"""
PIPELINE = """
table: table.yaml
source: {path: in}
destinations: {lines: {format: csv, path: lines}}
"""
LINES: dict[str, list[Any]] = {
    "folders alone": [{"subject": "orders.a", "body": {"amount": 9}}, {"subject": "mail.a"}, {"subject": "nobody"}],
    "something in the quarantine": [{"subject": "mail.a"}, "no message"],
    "a folder and a queue elsewhere": [{"subject": "elsewhere.a"}, {"subject": "mail.a"}],
}


@pytest.mark.parametrize(("what", "most"), [*zip(LINES, (1, 2, 3), strict=True)])
def test_a_batch_is_written_by_one_job_and_read_once_for_each_place_elsewhere(
    tmp_path: Path, spark: SparkSession, what: str, most: int
) -> None:
    """One more tells what is wrong with messages, if something is wrong with any."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    case.add("1.json", *LINES[what])
    seen: list[Any] = []
    run(PipelineFile.load(tmp_path / "pipeline.yaml"), case_tell, spark=spark, watch=lambda _, each: seen.extend(each))
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(str(seen[0].runId))
    assert 1 <= len(jobs) <= most


def case_tell(*_: object, **__: object) -> None:
    """Nobody listens."""
