"""A batch whose commit is gone from the checkpoint is done again, and nothing is there twice."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pointsman.store.queue import Queue
from tests.pipeline.running.endpoint import Endpoint, endpoint
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
destinations:
  desk:
  lines:
  rows:
  down:
  archive: {{type: queue, options: {{path: archive.db}}}}
  web: {{type: http, options: {{url: "{url}"}}}}
routes:
  - {{name: all, pattern: "orders.>", destinations: [desk, lines, rows, archive, web, down]}}
  - {{name: turns, pattern: "orders.>", strategy: balanced, balance: round-robin, destinations: [desk, lines]}}
sagas:
  order:
    starts: [{{on: orders.created, to: done, send: [orders.thank]}}]
    states: {{done: {{final: true}}}}
"""
PIPELINE = """
table: table.yaml
source: {path: in}
destinations:
  lines: {format: json, path: lines}
  rows: {format: table, path: lost_commit}
  down: {path: blocked/below}
"""


def test_nothing_is_twice_after_the_last_commit_was_lost(tmp_path: Path, spark: SparkSession) -> None:
    """In every destination that promises it: folders, queues, tables, HTTP by its idempotency key, and dead letters."""
    with endpoint(lambda *_: 200) as web:
        case = Case(tmp_path, spark)
        (tmp_path / "table.yaml").write_text(TABLE.format(url=web.url))
        (tmp_path / "pipeline.yaml").write_text(PIPELINE)
        for name in ("1", "2"):
            case.add(f"{name}.json", *({"subject": "orders.created", "id": f"{name}-{at}"} for at in range(20)))
            case.run()
        before = everything(case, spark, web)
        assert all(count == 1 for count in before.values())
        # 40 messages and as many commands; the routes that take turns share 80 more.
        kinds = Counter(kind for kind, _ in before)
        assert kinds == Counter(desk=120, lines=120, rows=80, archive=80, web=80, down=80)
        for query in ("route", "follow"):
            commits = tmp_path / "checkpoint" / query / "commits"
            last = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
            (commits / str(last)).unlink()
            (commits / f".{last}.crc").unlink()
        case.run()
        assert everything(case, spark, web) == before
        assert set(web.came.values()) == {1, 2}
    spark.sql("DROP TABLE lost_commit")


def everything(case: Case, spark: SparkSession, web: Endpoint) -> Counter[tuple[str, str]]:
    """Every delivery, by its destination and its id, and how often it is there."""
    folder = case.folder
    found = Counter(("web", key) for key in web.taken)
    for name, files in (
        ("desk", folder.glob("out/**/outcome=delivered/destination=desk/*.json")),
        ("lines", folder.glob("lines/**/*.json")),
    ):
        found.update(
            (name, json.loads(line)["delivery_id"]) for file in files for line in file.read_text().splitlines()
        )
    found.update(("rows", row.delivery_id) for row in spark.table("lost_commit").collect())
    for dead in folder.glob("out/**/dead/down/batch=*"):
        found.update(("down", row.delivery_id) for row in spark.read.parquet(str(dead)).collect())
    with Queue(folder / "archive.db") as queue:
        found.update(("archive", message.id) for message in queue.messages())
    return found
