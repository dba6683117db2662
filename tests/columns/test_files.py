"""Files of messages routed in this process: everything that is read is written somewhere, and memory stays flat."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pointsman.columns import message_files, row_files
from pointsman.columns.files import route_files
from pointsman.columns.message_files import read_files
from pointsman.columns.row_files import Folder, escaped, json_lines
from pointsman.errors import InputError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.messages_file import MAXIMUM_LINE

TABLE = RoutingTable.parse("""
routes:
  - {name: mail, pattern: mail.>, destinations: [post, archive/1]}
  - {name: turns, pattern: turn.*, strategy: balanced, balance: round-robin, destinations: [one, two, three]}
""")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of a folder of Parquet."""
    rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return rows


def written(path: Path, *lines: object) -> Path:
    """A file of JSON lines."""
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_every_message_is_delivered_quarantined_or_unrouted(tmp_path: Path) -> None:
    """The report says how many, and the files hold them."""
    messages = written(tmp_path / "in.jsonl", {"subject": "mail.x"}, "", {"subject": "news"}, {"subject": "a..b"}, "no")
    report = route_files(messages, TABLE, tmp_path / "out", format_name="json")
    assert (report.read, report.delivered, report.quarantined, report.unrouted) == (4, 1, 2, 1)
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == report.as_dict()
    assert {row["delivery_id"] for row in rows_of(tmp_path / "out" / "deliveries")} == {
        "line 1/mail/post",
        "line 1/mail/archive/1",
    }
    assert [(row["id"], row["position"]) for row in rows_of(tmp_path / "out" / "unrouted")] == [("line 3", 3)]
    quarantine = rows_of(tmp_path / "out" / "quarantine")
    assert [(row["id"], row["body"], row["problem"]["code"]) for row in quarantine] == [
        ("line 4", b"", "empty-token"),
        ("line 5", b"no", "bad-json"),
    ]


def test_chunks_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines across the ends of chunks are whole, and balances go on from one chunk to the next."""
    lines = [{"subject": f"turn.{number % 3}", "body": "x" * (number % 50)} for number in range(500)]
    messages = written(tmp_path / "in.jsonl", *lines)
    whole = route_files(messages, TABLE, tmp_path / "whole", format_name="json")
    monkeypatch.setattr(message_files, "CHUNK", 100)
    monkeypatch.setattr(row_files, "FLUSH", 1000)
    monkeypatch.setattr(row_files, "MOST_OPEN", 2)
    parts = route_files(messages, TABLE, tmp_path / "parts", format_name="json")
    assert parts == whole
    assert sorted(each.deliveries for each in whole.sent) == [166, 167, 167]
    found, wanted = (sorted(rows_of(tmp_path / each / "deliveries"), key=str) for each in ("parts", "whole"))
    assert found == wanted
    assert len(list((tmp_path / "parts" / "deliveries" / "destination=one").iterdir())) > 1


def test_a_line_that_is_too_long_is_set_aside_whole(tmp_path: Path) -> None:
    """Its text is the body."""
    long = '{"subject": "mail.x", "body": "' + "x" * MAXIMUM_LINE + '"}'
    messages = written(tmp_path / "in.jsonl", {"subject": "mail.x"}, long)
    route_files(messages, TABLE, tmp_path / "out", format_name="json")
    [row] = rows_of(tmp_path / "out" / "quarantine")
    assert (row["id"], row["body"].decode() == long) == ("line 2", True)
    assert row["problem"]["reason"] == f"the line is longer than {MAXIMUM_LINE} bytes"


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    """Neither a new folder nor a draft of it; and the error names the file."""
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(b'{"subject": "mail.x"}\n' * 1000)[:-20])
    (tmp_path / "in.parquet").write_bytes(b"PAR1 is not enough")
    (tmp_path / "in.csv").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    for name, form, code in (
        ("in.jsonl.gz", "json", "no-file"),
        ("in.parquet", "parquet", "no-file"),
        ("none.parquet", "parquet", "no-file"),
        ("in.csv", "csv", "bad-usage"),
    ):
        with pytest.raises(InputError) as caught:
            route_files(tmp_path / name, TABLE, tmp_path / "out", format_name=form, overwrite=True)
        assert (caught.value.code, caught.value.file) == (code, str(tmp_path / name))
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["old"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_columns_that_cannot_be_used_are_refused_by_name(tmp_path: Path) -> None:
    """Their types are named as Spark names them."""
    path = tmp_path / "in.parquet"
    for columns, said in (
        ({"id": ["1"]}, "messages have no column 'subject', only 'id'"),
        ({"subject": [5]}, "the column 'subject' of messages is bigint, not string"),
        ({"subject": ["a"], "Metadata": [1.5]}, "the column 'Metadata' of messages is double, not map<string,string>"),
        ({"subject": ["a"], "body": [5]}, "the column 'body' of messages is bigint, not binary or string"),
        ({"subject": ["a"], "problem": ["p"]}, "the column 'problem' of messages is string, not struct<"),
        ({"subject": ["a"], "route": ["p"]}, "messages have a column 'route' already; rename it first"),
    ):
        pq.write_table(pa.table(columns), path)
        with pytest.raises(InputError) as caught:
            route_files(path, TABLE, tmp_path / "out", format_name="parquet")
        assert (caught.value.code, caught.value.problem.startswith(said)) == ("bad-usage", True), caught.value.problem


def test_a_message_without_an_id_gets_the_same_one_each_time(tmp_path: Path) -> None:
    """Also where it is empty; two equal messages have two ids."""
    pq.write_table(pa.table({"subject": ["mail.x"] * 4, "id": ["", None, "7", None]}), tmp_path / "in.parquet")
    for name in ("a", "b"):
        route_files(tmp_path / "in.parquet", TABLE, tmp_path / name, format_name="parquet")
    first, second = ({row["delivery_id"] for row in rows_of(tmp_path / each / "deliveries")} for each in "ab")
    assert (first == second, len(first), "7/mail/post" in first) == (True, 8, True)


def test_csv_may_have_another_separator_and_no_header(tmp_path: Path) -> None:
    """In and out."""
    (tmp_path / "in.csv").write_text("subject;id\nmail.x;1\n")
    route_files(
        tmp_path / "in.csv",
        TABLE,
        tmp_path / "out",
        format_name="csv",
        options={"sep": ";"},
        out_format="csv",
        out_options={"sep": "|", "header": "false"},
    )
    [file] = (tmp_path / "out" / "deliveries" / "destination=post").iterdir()
    assert file.read_text().startswith('"mail.x"|"1"|')


def test_json_lines_of_rows_are_json() -> None:
    """Whatever the texts hold; null is left out."""
    texts = ["", '"', "\\", "\\n", "".join(map(chr, range(0x80))), "é\u2028😀", None]
    rows = pa.table({"a": texts, 'b"': pa.array(range(7)), "c": [1.5, float("nan"), None, 1e300, 0.0, -1.0, 2.0]})
    found = [json.loads(line) for line in json_lines(rows).splitlines()]
    assert [row.get("a") for row in found] == texts
    assert [row['b"'] for row in found] == list(range(7))
    assert [row.get("c") for row in found] == [1.5, "NaN", None, 1e300, 0.0, -1.0, 2.0]


def test_folders_are_named_as_spark_names_them(tmp_path: Path) -> None:
    """And hold what belongs there, in order."""
    assert escaped('a/b=c%"é \x01') == "a%2Fb%3Dc%25%22é %01"
    folder = Folder(tmp_path / "out", "json", {}, "to")
    folder.add(pa.table({"to": ["b", "a/1", "b"], "n": [1, 2, 3]}))
    folder.close()
    assert (tmp_path / "out" / "to=b" / "part-00000.json").read_text() == '{"n":1}\n{"n":3}\n'
    assert (tmp_path / "out" / "to=a%2F1" / "part-00000.json").read_text() == '{"n":2}\n'


def test_a_row_group_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However large it is."""
    monkeypatch.setattr(message_files, "ROWS", 10)
    pq.write_table(pa.table({"subject": ["mail.x"] * 95}), tmp_path / "in.parquet")
    sizes = [len(chunk.rows) for chunk in read_files(tmp_path / "in.parquet", "parquet", {})]
    assert (sum(sizes), max(sizes)) == (95, 10)


def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    """Ten times as many messages take about as much of it."""
    line = '{"subject": "mail.%d", "body": {"note": "' + "some words " * 20 + '"}}\n'
    for name, count in (("small", 30_000), ("large", 300_000)):
        with (tmp_path / f"{name}.jsonl").open("w") as file:
            file.writelines(line % (number % 100) for number in range(count))
    used = {}
    for name in ("small", "large"):
        script = f"""
import resource
from pathlib import Path
from pointsman.columns.files import route_files
from pointsman.table.routing_table import RoutingTable
table = RoutingTable.parse("routes: [{{name: mail, pattern: mail.>, destinations: [post]}}]")
route_files({str(tmp_path / name)!r} + ".jsonl", table, Path({str(tmp_path / name)!r}), format_name="json")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        used[name] = int(done.stdout)
    assert used["large"] < used["small"] + 100
