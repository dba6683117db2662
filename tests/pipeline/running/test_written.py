"""What a pipeline has written can be read back, byte for byte, and is found under one name."""

from __future__ import annotations

import base64
import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from pointsman.pipeline import deliver
from pointsman.pipeline.formats import read_messages
from pointsman.table.routing_table import RoutingTable
from tests.pipeline import outputs
from tests.pipeline.running.test_run import Case

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
destinations: {desk: , lines: , broken: }
routes: [{name: all, pattern: "orders.>", destinations: [desk, lines, broken]}]
"""
PIPELINE = """
table: table.yaml
source: {path: in}
format: csv
destinations: {lines: {format: json, path: lines}, broken: {format: csv, path: blocked/below}}
"""
BODIES = {
    "binary": bytes(range(256)),
    "text": ' zwölf, "so" '.encode(),
    "latin": "zwölf".encode("latin-1"),
    "none": b"",
}


def test_bodies_come_back_byte_for_byte_from_texts(tmp_path: Path, spark: SparkSession) -> None:
    """In JSON and CSV, of deliveries and of what is unrouted, quarantined or dead and then replayed."""
    case = Case(tmp_path, spark)
    (tmp_path / "table.yaml").write_text(TABLE)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    encoded = {name: base64.b64encode(body).decode() for name, body in BODIES.items()}
    for domain in ("orders.x", "nobody.x", "orders..x"):
        lines = [
            {"subject": domain, "id": name, "body_base64": text, "metadata": {"k": 'v,"1"'}}
            for name, text in encoded.items()
        ]
        case.add(f"{domain}.json", *lines)
    totals = case.run()
    assert (totals.unrouted, totals.quarantined.total(), totals.failed.total()) == (4, 4, 4)
    for folder in ("deliveries", "unrouted"):
        path = outputs.files(tmp_path / "out", folder)[0].parent
        rows = read_messages(spark, path, "csv").select("id", "body", "metadata").collect()
        assert {row.id: bytes(row.body or b"") for row in rows} == BODIES
        assert all(row.metadata == {"k": 'v,"1"'} for row in rows)
    files = outputs.files(tmp_path / "out", "quarantined", ending=".csv")
    aside = [row for path in files for row in csv.DictReader(path.read_text().splitlines())]
    assert {row["id"]: base64.b64decode(row["body_base64"]) for row in aside}["binary"] == BODIES["binary"]
    assert json.loads(aside[0]["problem"])["code"] == "empty-token"
    written = [
        json.loads(line) for path in (tmp_path / "lines").rglob("*.json") for line in path.read_text().splitlines()
    ]
    assert {row["id"]: row["body_base64"] for row in written if "body_base64" in row} == {
        name: encoded[name] for name in ("binary", "latin")
    }
    dead = spark.read.parquet(str(tmp_path / "out" / "dead" / "broken")).collect()
    assert {row.id: bytes(row.body) for row in dead} == BODIES


@pytest.mark.parametrize("name", ["a b/ü 100%=x", "{[*?]}:'\"#^\\", "plain"])
def test_dead_letters_lie_under_the_name_that_the_deliveries_have(
    tmp_path: Path, spark: SparkSession, name: str
) -> None:
    """However odd it is, and whether they were written together or alone."""
    (tmp_path / "blocked").write_text("where a folder should be")
    table = RoutingTable.from_plain({"routes": [{"name": "all", "pattern": ">", "destinations": [name]}]})
    row = {"id": "1", "subject": "a", "route": "all", "destination": name, "delivery_id": "1/all/x"}
    made = spark.createDataFrame([row])
    deliver(made, table, tmp_path / "out")
    deliver(made, table, tmp_path / "out", sinks={name: {"path": str(tmp_path / "blocked" / "x")}}, batch=1)
    [delivered] = (tmp_path / "out" / "routed" / "batch=0" / "outcome=delivered").glob("destination=*")
    [dead] = (tmp_path / "out" / "dead").iterdir()
    assert delivered.name == f"destination={dead.name}"
    assert unquote(dead.name) == name
