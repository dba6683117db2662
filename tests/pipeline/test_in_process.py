"""``pointsman route`` in this process writes what it writes on Spark, whatever is read and written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pointsman.columns import files
from pointsman.pipeline.formats import format_of, read_messages
from pointsman.pipeline.route_files import route_files
from pointsman.table.routing_table import RoutingTable

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TABLE = """
destinations:
  post: {breaker: {failures: 3, reset: 10s}}
  "archive/1 é=":
  one:
  two:
  rest:
routes:
  - {name: mail, pattern: mail.>, destinations: [post, "archive/1 é="]}
  - {name: desk, pattern: mail.*, strategy: balanced, balance: sticky, key: metadata.k, destinations: [one, two]}
  - {name: turns, pattern: "*.x", strategy: balanced, balance: round-robin, destinations: [one, two]}
  - {name: large, pattern: "orders.>", strategy: content, when: "body.amount > 10", destinations: [rest]}
translations: [{name: old, from: "letters.*", to: "mail.{{wildcard(1)}}"}]
access: {shop: {publish: [mail.>, letters.>, orders.>]}}
"""
PLAIN = "routes: [{name: mail, pattern: mail.>, destinations: [post]}]"
LINES = [
    b'{"subject": "mail.x", "metadata": {"k": "v\\"q"}, "body": {"b": 1, "a": 2}, "time": "2026-01-01T00:00:00.1234Z"}',
    b'{"subject": "mail.x"}\r',
    b'{"subject": "mail.x.y", "id": "", "body": ""}',
    b'{"subject": "mail.x.y", "id": "7", "body_base64": "/w==", "principal": "shop", "time": "1969-12-31T23:59:59.9Z"}',
    b'{"subject": "nobody", "body": "\xc3\xa4\\u0001\\u001f\\n\\t\\\\ \\"", "metadata": {"\\n": "\\u0002"}}',
    b'{"subject": "a..b"}',
    b"",
    b" \t\x0b\f\r",
    b'{"subject": "orders.eu", "body": {"amount": 12.5}, "position": 77, "principal": "else"}',
    b'{"subject": "orders.eu", "body": {"amount": 12.5}, "principal": "shop", "id": "8"}',
    b'{"subject": "orders.eu", "body": {"amount": 1}}',
    b'{"subject": "letters.x", "metadata": {"k": "w"}}',
    b'{"subject": "a", "colour": "red"}',
    b'{"subject": "a", "body": "\\ud800"}',
    b"\xff\xfe",
    b"no",
]
ROWS = """Subject,id,metadata,body,time,extra
mail.x,1,"{""k"": ""v""}",hello,2026-01-01T00:00:00Z,x
mail.x,2,"{""k"": 1.50, ""n"": null, ""o"": {""b"": 1 }, ""t"": true, ""l"":[1,  2]}",,2026-01-01 12:30:00,
mail.x,3,{},"",2026-01-01,""
mail.x,4,nonsense,body 4,2026-01-01,e
mail.x,5,,body 5,nonsense,e
mail.x,6
mail.x,7,,b,2026-01-01T10:00:00+02:00,e,too,many

   \t
,8,,b,,
mail.x,8a,,"say ""no"", ok",2026-1-2 3:4:5.678+01:00,
nobody, 9 ,,b,2026-01-01T00:00:00.123456789Z,
mail.x,10,[1],b,2026,
mail.x,11,"{""a"":1",b,2026-13-01,
mail.x,12,,"open,b,,
mail.x,13,,a"b,2026-01-01T00:00:00 Europe/Vienna,
letters.x,14,,é,,\r
"""


def _json(folder: Path) -> Path:
    (folder / "in.jsonl").write_bytes(b"\n".join(LINES))
    return folder / "in.jsonl"


def _compressed(folder: Path) -> Path:
    path = folder / "lines"
    (path / "deeper").mkdir(parents=True)
    (path / "deeper" / "c.json").write_bytes(b"not read")
    (path / "b.json.gz").write_bytes(gzip.compress(b"\n".join(LINES) + b"\n"))
    (path / "a b.json").write_bytes(b"\xef\xbb\xbf" + b"\n\n".join(LINES) + b"\n\n")
    (path / "empty.json").touch()
    (path / "_hidden.json").write_bytes(b"hidden")
    return path


def _csv(folder: Path) -> Path:
    (folder / "in.csv").write_text("\ufeff" + ROWS, "utf-8", newline="")
    return folder / "in.csv"


def _csv_with_base64(folder: Path) -> Path:
    rows = "subject,id,body,body_base64\nmail.x,1,,/w==\nmail.x,2,a,\nmail.x,3,a,/w==\nmail.x,4,,?\n"
    (folder / "in.csv").write_text(rows)
    return folder / "in.csv"


def _parquet(folder: Path) -> Path:
    rows = pa.table(
        {
            "ID": ["1", "2", "3", "4"],
            "subject": pa.array(["mail.x", "orders.us", None, "a..b"]).dictionary_encode(),
            "body": pa.array([b"\xff", b'{"amount": 11}', None, b""], pa.large_binary()),
            "metadata": pa.array([[("k", "v")], [], None, [("k", None)]], pa.map_(pa.string(), pa.string())),
            "time": pa.array([datetime(2026, 1, 1, 1, 2, 3, 456789, UTC)] * 3 + [None], pa.timestamp("us", "UTC")),
            "position": pa.array([4, 3, 2, 1], pa.int32()),
            "price": [1.5, None, 1e6, -0.25],
            "count": pa.array([1, 2, None, 4], pa.int64()),
            "flag": [True, False, None, True],
            "tags": [["a", 'b"'], [], None, ["c"]],
            "local": pa.array([datetime(2026, 1, 1)] * 4, pa.timestamp("us")),
        }
    )
    pq.write_table(rows, folder / "in.parquet", row_group_size=2)
    return folder / "in.parquet"


def rows_of(spark: SparkSession, folder: Path, form: str) -> tuple[list[tuple[str, str]], list[str]]:
    """The columns of a folder, and its rows in some order."""
    reader = spark.read.options(header="true", escape='"', multiLine="true") if form == "csv" else spark.read
    if not [path for path in folder.rglob("part-*") if path.stat().st_size]:
        return [], []
    frame = reader.format(form).load(str(folder))
    rows = [json.dumps(row.asDict(recursive=True), default=repr, sort_keys=True) for row in frame.collect()]
    return frame.dtypes, sorted(rows)


def same_both_ways(
    spark: SparkSession, folder: Path, messages: Path, table: RoutingTable, out_format: str, **more: Any
) -> dict[str, Any]:
    """Routes the messages in both ways, which is to come to the same, and gives the report."""
    chosen = format_of(messages)
    here, there = folder / "here", folder / "there"
    report = files.route_files(messages, table, here, format_name=chosen, out_format=out_format, **more)
    expected = route_files(read_messages(spark, messages, chosen), table, there, format_name=out_format, **more)
    assert report == expected
    assert (here / "report.json").read_bytes() == (there / "report.json").read_bytes()
    for name in ("deliveries", "quarantine", "unrouted"):
        found, wanted = (rows_of(spark, each / name, out_format) for each in (here, there))
        assert found[0] == wanted[0]
        assert found[1] == wanted[1]
        names = [
            sorted({str(path.parent.relative_to(each)) for path in (each / name).rglob("part-*")})
            for each in (here, there)
        ]
        assert names[0] == names[1]
        assert (here / name / "_SUCCESS").exists()
    return report.as_dict()


WAYS = [(make, form) for make in (_json, _parquet) for form in ("parquet", "json", "csv")]
WAYS += [(_csv, "parquet"), (_csv, "csv"), (_csv_with_base64, "json"), (_compressed, "parquet")]


@pytest.mark.parametrize(
    ("make", "out_format"), WAYS, ids=lambda value: value if isinstance(value, str) else value.__name__
)
def test_the_same_is_written_with_and_without_spark(
    spark: SparkSession, tmp_path: Path, make: Callable[[Path], Path], out_format: str
) -> None:
    """The same folders, columns, types, rows and report; with breakers, balances, translations and access rules."""
    said = same_both_ways(spark, tmp_path, make(tmp_path), RoutingTable.parse(TABLE), out_format)
    assert said["messages"]["delivered"] > 0
    assert said["messages"]["quarantined"] > 0


@pytest.mark.parametrize("make", [_json, _csv])
def test_a_principal_is_asked_about_with_and_without_spark(
    spark: SparkSession, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """The option is for messages that name none."""
    said = same_both_ways(spark, tmp_path, make(tmp_path), RoutingTable.parse(TABLE), "parquet", principal="else")
    assert "publish-refused" in {each["code"] for each in said["quarantine"]}


@pytest.mark.parametrize("out_format", ["parquet", "csv"])
def test_a_plain_table_adds_no_columns_that_it_does_not_need(
    spark: SparkSession, tmp_path: Path, out_format: str
) -> None:
    """Those of breakers; and where nothing is set aside, the folder is there all the same."""
    pq.write_table(pa.table({"id": ["1"], "subject": ["mail.x"]}), tmp_path / "in.parquet")
    same_both_ways(spark, tmp_path, tmp_path / "in.parquet", RoutingTable.parse(PLAIN), out_format)
    (tmp_path / "none.jsonl").touch()
    (tmp_path / "none").mkdir()
    said = same_both_ways(spark, tmp_path / "none", tmp_path / "none.jsonl", RoutingTable.parse(PLAIN), out_format)
    assert said["messages"]["read"] == 0


def test_what_spark_has_written_is_read_again_in_this_process(spark: SparkSession, tmp_path: Path) -> None:
    """Times of Spark's own kind, and folders whose names are values of a column."""
    table = RoutingTable.parse(PLAIN)
    first = tmp_path / "first"
    route_files(read_messages(spark, _json(tmp_path), "json"), table, first)
    frame = spark.read.parquet(str(first / "deliveries")).drop("original_subject", "route", "strategy", "delivery_id")
    frame.withColumnRenamed("destination", "went_to").write.partitionBy("went_to").parquet(str(tmp_path / "again"))
    said = same_both_ways(spark, tmp_path, tmp_path / "again", table, "parquet")
    assert said["messages"]["delivered"] == said["messages"]["read"] > 0
    frame = spark.read.parquet(str(first / "quarantine")).drop("original_subject", "route")
    frame.write.parquet(str(tmp_path / "problems"))
    (tmp_path / "more").mkdir()
    said = same_both_ways(spark, tmp_path / "more", tmp_path / "problems", table, "json")
    assert said["messages"]["quarantined"] == said["messages"]["read"] > 0
