"""One batch from files to files: everything that is read is written somewhere, and all of it or nothing appears."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pointsman.cli.main import main
from pointsman.columns.output import BatchReport, new_folder
from pointsman.errors import InputError
from pointsman.pipeline.formats import read_messages
from pointsman.pipeline.route_files import route_files
from pointsman.table.routing_table import RoutingTable

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SPARK = ("--master", "local[*]")
TABLE = """
routes:
  - {name: mail, pattern: mail.>, destinations: [post, archive/1]}
  - {name: desk, pattern: mail.*, strategy: balanced, balance: sticky, key: metadata.k, destinations: [one, two]}
access: {shop: {publish: [mail.>]}}
"""
LINES = """{"subject": "mail.x", "metadata": {"k": "v"}, "body": {"b": 1, "a": 2}}
{"subject": "mail.x"}
{"subject": "mail.x.y"}
{"subject": "nobody"}
{"subject": "a..b"}

{"subject": "a", "colour": "red"}
no
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a table and messages."""
    monkeypatch.chdir(tmp_path)
    Path("table.yaml").write_text(TABLE)
    Path("in.jsonl").write_text(LINES)
    return tmp_path


def test_every_message_is_delivered_quarantined_or_unrouted(
    spark: SparkSession, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command says how many, and the files hold them."""
    with pytest.raises(SystemExit) as ended:
        main(["route", "table.yaml", "--messages", "in.jsonl", "--out", "made/out", "--json", *SPARK])
    assert ended.value.code == 0
    said = json.loads(capsys.readouterr().out)
    assert said["messages"] == {"read": 7, "delivered": 3, "quarantined": 3, "unrouted": 1, "partly": 1}
    assert [(each["route"], each["destination"], each["deliveries"]) for each in said["sent"]][:2] == [
        ("mail", "archive/1", 3),
        ("mail", "post", 3),
    ]
    assert [(each["stage"], each["code"], each["rows"]) for each in said["quarantine"]] == [
        ("receive", "bad-json", 1),
        ("receive", "bad-message", 1),
        ("resolve", "empty-token", 1),
        ("select", "no-key", 1),
    ]
    assert said.pop("out") == "made/out"
    assert json.loads(Path("made/out/report.json").read_text()) == said
    out = folder / "made" / "out"
    deliveries = spark.read.parquet(str(out / "deliveries")).collect()
    assert len(deliveries) == said["deliveries"] == 7
    assert {row.id for row in deliveries if row.destination == "archive/1"} == {"line 1", "line 2", "line 3"}
    assert {bytes(row.body) for row in deliveries if row.id == "line 1"} == {b'{"b":1,"a":2}'}
    quarantine = spark.read.parquet(str(out / "quarantine")).collect()
    assert {(row.id, bytes(row.body)) for row in quarantine if row.problem.code == "bad-json"} == {("line 8", b"no")}
    assert [row.id for row in spark.read.parquet(str(out / "unrouted")).collect()] == ["line 4"]
    assert [path.name for path in (folder / "made").iterdir()] == ["out"]


def test_a_folder_that_is_there_is_replaced_only_if_told(spark: SparkSession, folder: Path) -> None:
    """For people there is a table; the principal is asked about in the access rules."""
    table, messages = RoutingTable.parse(TABLE), read_messages(spark, "in.jsonl")
    Path("out").mkdir()
    Path("out/old").touch()
    with pytest.raises(InputError) as caught:
        route_files(messages, table, Path("out"))
    assert (caught.value.code, Path("out/old").exists()) == ("folder-exists", True)
    report = route_files(messages, table, Path("out"), format_name="json", principal="shop", overwrite=True)
    assert [(each.stage, each.code, each.rows) for each in report.set_aside if each.stage == "authorize"] == [
        ("authorize", "publish-refused", 2)
    ]
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "deliveries",
        "quarantine",
        "report.json",
        "unrouted",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "out", "table.yaml"]


@pytest.mark.usefixtures("spark")
def test_a_batch_that_fails_leaves_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the folder nor a draft of it; and it is told in a sentence."""
    with pytest.raises(SystemExit) as ended:
        main(["route", "table.yaml", "-m", "in.jsonl", "-o", "out", "--out-format", "nonsense", *SPARK])
    assert ended.value.code == 2
    assert "error[spark-failed]: [DATA_SOURCE_NOT_FOUND]" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["in.jsonl", "table.yaml"]


@pytest.mark.usefixtures("folder")
def test_what_does_not_add_up_is_not_kept(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a message was there while they were counted, and is not any more."""
    messages = read_messages(spark, "in.jsonl")
    monkeypatch.setattr(type(messages), "count", lambda _: 8)
    with pytest.raises(InputError) as caught:
        route_files(messages, RoutingTable.parse(TABLE), Path("out"))
    assert (caught.value.code, "8 messages were read, but 3 + 3 + 1 = 7" in caught.value.problem) == (
        "uneven-batch",
        True,
    )
    assert not Path("out").exists()


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    """Whatever stood there before comes back, or is gone afterwards."""
    path = tmp_path / "in" / "new"
    with new_folder(path) as draft:
        (draft / "one").touch()
        assert not path.exists()
    with pytest.raises(ZeroDivisionError), new_folder(path, overwrite=True):
        1 / 0  # noqa: B018
    assert [file.name for file in path.iterdir()] == ["one"]
    with new_folder(path, overwrite=True) as draft:
        (draft / "two").touch()
    assert [file.name for file in path.iterdir()] == ["two"]
    assert [file.name for file in path.parent.iterdir()] == ["new"]


def test_a_file_is_never_replaced_by_a_folder(tmp_path: Path) -> None:
    """Nor can a folder be made in one."""
    file = tmp_path / "file"
    file.touch()
    for path, code in ((file, "folder-exists"), (file / "new", "no-file")):
        with pytest.raises(InputError) as caught, new_folder(path, overwrite=True):
            pass
        assert caught.value.code == code


def test_the_deliveries_of_a_report_are_those_of_all_routes() -> None:
    """Each message may have several."""
    report = BatchReport("hash", None, 2, 2, by_route=Counter({("a", "x"): 2, ("b", "y"): 1}))
    assert report.deliveries == 3
