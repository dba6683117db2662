"""The command, as a user calls it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from pointsman.cli.queue_import import import_database
from pointsman.errors import PatternError, StoreError
from pointsman.store.queue import Queue
from tests.store.importing.databases import EXAMPLE, litequeue, miniq


def called(*arguments: object) -> Result:
    """What the command does with these arguments."""
    app = typer.Typer(rich_markup_mode=None)
    app.command("import")(import_database)
    return CliRunner().invoke(app, [str(each) for each in arguments], standalone_mode=False)


def test_the_report_is_for_people(tmp_path: Path) -> None:
    """What was taken over, what it was and is, what was changed, and that it adds up."""
    rows = [("1", "a", "x", 0, 5), ("2", "a" * 300, "x", 1, 50), ("3", "a", "x", 3, 5)]
    source = miniq(tmp_path / "miniq.db", rows)
    result = called(source, tmp_path / "queue.db")
    assert result.return_value == 0
    assert result.stdout.splitlines() == [
        f"{source}, table messages of miniq -> {tmp_path / 'queue.db'}",
        "3 of 3 messages taken over",
        "  they were   1 READY, 1 LOCKED, 1 FAILED",
        "  they are    2 dead, 1 ready",
        "          1   was locked by a consumer and is ready again: '2'",
        f"          1   has a topic that the dialect refuses, kept as the metadata 'topic': '{'a' * 100}…'",
        "          1   has a priority outside of 1 to 10 and gets the nearest: 50",
        "the counts of both sides agree",
    ]
    assert "3 of 3 messages taken over, 3 of them by an earlier run" in called(source, tmp_path / "queue.db").stdout


def test_the_report_is_for_machines(tmp_path: Path) -> None:
    """With the patterns, from the command and from a file."""
    patterns = tmp_path / "patterns.txt"
    patterns.write_text("orders*\n\nusers.*\n")
    result = called(EXAMPLE, tmp_path / "queue.db", "--pattern", "orders.*", "--patterns", patterns, "--json")
    said = json.loads(result.stdout)
    assert (said["rows"], said["read"], said["states"], said["adds_up"]) == (7, 7, {"ready": 7}, True)
    assert [(each["old"], each["new"], each["exact"]) for each in said["patterns"]] == [
        ("orders.*", ["orders.*.#"], True),
        ("orders*", ["*.#"], False),
        ("users.*", ["users.*.#"], True),
    ]
    assert [(each["before"], each["now"], each["gained"]) for each in said["patterns"]] == [
        (4, 4, []),
        (4, 6, ["users.updated"]),
        (2, 2, []),
    ]


def test_patterns_are_shown_with_what_they_take_here(tmp_path: Path) -> None:
    """Each with its new meaning, and what it takes of the messages that there are."""
    lines = called(EXAMPLE, tmp_path / "queue.db", "--pattern", "orders.*", "--pattern", "orders*").stdout.splitlines()
    assert "orders.*  ->  orders.*.#  exact but for case: orders, then one word or more" in lines
    assert "    messages here: 4 before, 6 now" in lines
    assert "    only now: 'users.updated'" in lines
    assert "    just the old meaning, in the dialect zato: orders**" in lines


def test_a_key_and_a_dialect_can_be_given(tmp_path: Path) -> None:
    """For a queue that has no topics."""
    litequeue(tmp_path / "lite.db", 3)
    called(tmp_path / "lite.db", tmp_path / "queue.db", "--key", "jobs/old", "--dialect", "mqtt", "--kind", "litequeue")
    with Queue(tmp_path / "queue.db") as queue:
        assert queue.store.dialect.name == "mqtt"
        assert len(queue.pop_many(5, "jobs/+")) == 3


def test_mistakes_come_before_anything_is_made(tmp_path: Path) -> None:
    """No queue's file is left behind."""
    missing = called(tmp_path / "none.db", tmp_path / "queue.db").exception
    assert isinstance(missing, StoreError)
    assert missing.code == "no-file"
    long = called(EXAMPLE, tmp_path / "queue.db", "--pattern", "a." + "b" * 300).exception
    assert isinstance(long, PatternError)
    assert not (tmp_path / "queue.db").exists()


def test_a_database_that_matched_word_by_word_is_told_apart(tmp_path: Path) -> None:
    """The later MiniQ's patterns stay as they are, and take what they took."""
    topics = ["orders", "orders.new", "orders.new.eu", "Orders.new"]
    source = miniq(tmp_path / "miniq.db", [(topic, topic, "x", 0, 5) for topic in topics])
    with closing(sqlite3.connect(source)) as connection, connection:
        connection.execute("CREATE TABLE routing_segments (message_id TEXT, segment_position INTEGER)")
    patterns = ["orders.#", "orders.*", "#", "*.new", "orders*", ""]
    options = [each for pattern in patterns for each in ("--pattern", pattern)]
    assert "are amqp already" in called(source, tmp_path / "queue.db", *options).stdout
    said = json.loads(called(source, tmp_path / "queue.db", *options, "--json").stdout)["patterns"]
    assert [each["new"] for each in said] == [["orders.#"], ["orders.*"], ["#"], ["*.new"], ["orders*"], ["#"]]
    assert {(each["fit"], each["differences"]) for each in said} == {("exact", "")}
    assert [(each["before"], each["now"]) for each in said] == [(3, 3), (1, 1), (4, 4), (2, 2), (0, 0), (4, 4)]
    assert "are amqp already" not in called(EXAMPLE, tmp_path / "queue.db", "--pattern", "a.*").stdout
