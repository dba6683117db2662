"""``pointsman subscriptions``, as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pointsman.cli import main

EU: dict[str, Any] = {
    "id": "eu",
    "owner": "ada",
    "destinations": ["inbox"],
    "pattern": "orders.>",
    "condition": {"key": "region", "pattern": "EU"},
}
LARGE: dict[str, Any] = {
    "id": "large",
    "owner": "bob",
    "destinations": ["a", "b"],
    "condition": {"and": [{"key": "size", "number": {">": 5}}, {"not": {"key": "region", "pattern": "US"}}]},
}


class Ended:
    """What a command printed and how it ended."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def lines(self) -> list[Any]:
        """The lines of JSON that it printed."""
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the queue is to be."""
    return tmp_path / "queue.db"


@pytest.fixture
def run(file: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command on the queue."""

    def call(command: str, *arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main(["subscriptions", command, str(file), *arguments])
        printed = capsys.readouterr()
        return Ended(int(ended.value.code or 0), printed.out, printed.err)

    return call


@pytest.fixture
def both(run: Any) -> Any:
    """The same, with two subscriptions stored."""
    for each in (EU, LARGE):
        assert run("create", json.dumps(each)).out == f"{each['id']}\n"
    return run


def test_a_subscription_is_created_and_printed(both: Any, tmp_path: Path) -> None:
    """From an argument, or from a file."""
    got = both("get", "large")
    assert json.loads(got.out) == {"number": 2, "version": 2, **LARGE}
    (tmp_path / "more.json").write_text(json.dumps({**EU, "id": "more"}, indent=2), encoding="utf-8")
    assert json.loads(both("create", str(tmp_path / "more.json"), "--json").out) == {"number": 3, "id": "more"}
    missing = both("get", "nobody")
    assert (missing.status, missing.out) == (1, "")
    assert "nobody" in missing.err


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("{", "bad-json"),
        ("no such file", "no-file"),
        ('{"id": "x"}', "bad-subscription"),
        (json.dumps(EU), "subscription-exists"),
        (json.dumps({**EU, "id": "x", "condition": {"key": 5, "pattern": "a"}}), "bad-subscription"),
    ],
)
def test_what_cannot_be_created_is_said(both: Any, given: str, code: str) -> None:
    """With the code, and the status of bad input."""
    ended = both("create", given)
    assert ended.status == 2
    assert f"error[{code}]" in ended.err
    assert len(both("list", "--json").lines) == 2


def test_subscriptions_are_listed_in_pages(both: Any) -> None:
    """All, those of an owner, and those of a matcher."""
    assert both("list").out.splitlines()[1].split()[:5] == ["1", "eu", "ada", "yes", "orders.>"]
    assert [line["id"] for line in both("list", "--json").lines] == ["eu", "large"]
    assert [line["id"] for line in both("list", "--json", "--limit", "1").lines] == ["eu"]
    assert [line["id"] for line in both("list", "--json", "--limit", "1", "--after", "1").lines] == ["large"]
    assert [line["id"] for line in both("list", "--json", "--owner", "bob").lines] == ["large"]
    matcher = json.dumps({"key": "region", "pattern": "US"})
    assert [line["id"] for line in both("list", "--json", "--matcher", matcher).lines] == ["large"]
    for arguments in (("--matcher", '{"not": {"pattern": "a"}}'), ("--matcher", matcher, "--owner", "bob")):
        assert both("list", *arguments).status == 2


def test_subscriptions_are_changed_and_deleted(both: Any) -> None:
    """And what was done is in the changes."""
    assert both("update", json.dumps({**EU, "owner": "eve"})).out == "eu\n"
    assert both("update", json.dumps({**EU, "id": "nobody"})).status == 2
    assert both("disable", "eu").out == "disabled  eu\n"
    assert json.loads(both("get", "eu").out)["enabled"] is False
    assert both("enable", "eu").out == "enabled  eu\n"
    assert both("enable", "nobody").status == 2
    deleted = both("delete", "large", "nobody")
    assert (deleted.status, deleted.out) == (1, "deleted  large\nnot there  nobody\n")
    assert json.loads(both("delete", "--json", "nobody").out) == {"nobody": False}
    changes = both("changes", "--json").lines
    assert [(change["kind"], change["id"]) for change in changes] == [("updated", "eu"), ("deleted", "large")]
    later = both("changes", "--json", "--after", str(changes[0]["version"])).lines
    assert later == changes[1:]


def test_a_message_is_resolved(both: Any) -> None:
    """By its subject and its metadata; it ends with 1 if it reaches nobody."""
    message = {"subject": "orders.1", "metadata": {"region": "EU", "size": "10"}}
    assert [line["id"] for line in both("resolve", json.dumps(message), "--json").lines] == ["eu", "large"]
    assert [line["id"] for line in both("resolve", json.dumps(message), "--json", "--limit", "1").lines] == ["eu"]
    one = both("resolve", json.dumps({**message, "subject": "plant.1"}))
    assert (one.status, one.out.splitlines()[1].split()) == (0, ["2", "large", "bob", "a,", "b"])
    assert both("resolve", "orders.1").status == 1


@pytest.mark.parametrize("name", ["all.jsonl", "all.parquet"])
def test_subscriptions_go_from_file_to_file(both: Any, tmp_path: Path, name: str) -> None:
    """What was exported replaces what it was, and fills a new queue."""
    target = tmp_path / name
    assert both("export", str(target)).out == f"2 subscriptions written to {target}\n"
    assert both("import", str(target)).status == 2
    assert both("import", str(target), "--replace").out == "0 subscriptions created, 2 changed\n"
    assert both("export", str(tmp_path / "bob"), "--owner", "bob", "--format", "parquet").status == 0
    assert pq.read_table(tmp_path / "bob").column("id").to_pylist() == ["large"]
    other = str(tmp_path / "other.db")
    with pytest.raises(SystemExit) as ended:
        main(["subscriptions", "import", other, str(target)])
    assert not ended.value.code


def test_an_import_goes_on_where_it_stopped(run: Any, tmp_path: Path) -> None:
    """In batches, with what the error says."""
    source = tmp_path / "x.jsonl"
    source.write_text(f"{json.dumps(EU)}\n{json.dumps({**EU, 'id': 5})}\n", encoding="utf-8")
    failed = run("import", str(source), "--batch", "1")
    assert failed.status == 2
    assert f"{source}:2" in failed.err
    assert "skip 1" in failed.err
    source.write_text(f"{json.dumps(EU)}\n{json.dumps({**EU, 'id': '5'})}\n", encoding="utf-8")
    assert json.loads(run("import", str(source), "--skip", "1", "--json").out) == {"created": 1, "updated": 0}
    assert [line["id"] for line in run("list", "--json").lines] == ["eu", "5"]
