"""Every message that a pipeline reads is delivered, dead, quarantined or unrouted, by every route that takes it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from pointsman.errors import TemplateError
from pointsman.pipeline.config import PipelineFile
from pointsman.pipeline.run import run
from pointsman.store.queue import Queue
from tests.pipeline import outputs
from tests.pipeline.tables import DESTINATIONS, Case, case_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

CASES = 4
BAD_LINES = ["no json", '{"subject": 5}', "[]", '{"id": "x"}']


def lines_of(case: Case) -> list[str]:
    """The messages as JSON lines; one without a subject has none."""
    made = []
    for sent in case.sent:
        fields: dict[str, Any] = {"id": sent.id} if sent.message is None else sent.message.to_dict()
        fields |= {} if sent.principal is None else {"principal": sent.principal}
        made.append(json.dumps({key: value for key, value in fields.items() if value is not None or key == "time"}))
    return made


def expected(case: Case) -> dict[str, Counter[str] | None]:
    """By id, how many deliveries each route gives; None for a message that is quarantined as a whole."""
    found: dict[str, Counter[str] | None] = {}
    for sent in case.sent:
        found[sent.id] = None
        if sent.message is not None:
            try:
                decision = case.table.decide(sent.message, principal=sent.principal)
            except TemplateError:
                continue
            if decision.error is None:
                routes = Counter(each.route for each in decision.deliveries)
                routes.update(each.route for each in decision.problems)
                found[sent.id] = routes
    return found


def written(spark: SparkSession, folder: Path) -> tuple[dict[str, Counter[str]], set[str], set[str], int]:
    """By id, the deliveries of each route; the ids in quarantine and unrouted; and how many lines had no id."""
    routes: dict[str, Counter[str]] = {}

    def add(id: str, route: str) -> None:
        routes.setdefault(id, Counter())[route] += 1

    for row in outputs.rows(folder / "out", "deliveries"):
        add(row["id"], row["route"])
    if (folder / "out" / "dead").exists():
        for each in (folder / "out" / "dead").iterdir():
            for dead in spark.read.parquet(str(each)).collect():
                add(dead["id"], dead["route"])
    with Queue(folder / "kept.db") as queue:
        for message in queue.messages(limit=100_000):
            id, route, _ = (message.id or "").rsplit("/", 2)
            add(id, route)
    quarantined = outputs.rows(folder / "out", "quarantined")
    for row in quarantined:
        if row.get("route") is not None:
            add(row["id"], row["route"])
    whole = [row for row in quarantined if row.get("route") is None]
    ids = {row["id"] for row in whole if row.get("subject") is not None or row["id"].startswith("m")}
    return routes, ids, {row["id"] for row in outputs.rows(folder / "out", "unrouted")}, len(whole) - len(ids)


def test_what_a_pipeline_reads_adds_up(tmp_path: Path, spark: SparkSession) -> None:
    """By id and route, over two runs, with lines that are no messages and destinations that fail."""
    for number in range(CASES):
        random = Random(f"pipeline accounting {number}")
        case = case_of(random)
        while len(case.sent) < 10 or len(case.table.routes) < 3:
            case = case_of(random)
        folder = tmp_path / str(number)
        (folder / "in").mkdir(parents=True)
        plain = case.plain | {"destinations": dict.fromkeys(DESTINATIONS)}
        plain["destinations"]["d0"] = {"type": "queue", "options": {"path": "kept.db"}}
        (folder / "table.yaml").write_text(json.dumps(plain))
        (folder / "blocked").write_text("a file where a folder should be")
        sinks = {"d1": {"path": "blocked/below"}}
        (folder / "pipeline.yaml").write_text(
            json.dumps({"table": "table.yaml", "source": {"path": "in"}, "destinations": sinks})
        )
        lines, half = lines_of(case), len(case.sent) // 2
        for name, part in (("1.json", lines[:half] + BAD_LINES), ("2.json", lines[half:])):
            (folder / "in" / name).write_text("\n".join(part) + "\n")
            totals = run(PipelineFile.load(folder / "pipeline.yaml"), lambda *_, **__: None, spark=spark)
            assert totals.messages == len(part)
        plain_case = Case(plain, type(case.table).from_plain(plain), case.state, case.sent)
        routes, quarantined, unrouted, without_id = written(spark, folder)
        assert without_id == len(BAD_LINES)
        for id, wanted in expected(plain_case).items():
            assert (id in quarantined) == (wanted is None), (number, id)
            assert (id in unrouted) == (wanted is not None and not wanted), (number, id)
            assert routes.get(id, Counter()) == (wanted or Counter()), (number, id)
