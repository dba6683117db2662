"""The benchmark of wildcard subscriptions: its data are what they claim to be, and all ways find the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pointsman.bench import subscriptions
from pointsman.bench.subscriptions_data import BESIDE, SHARES, WITHOUT, make_data
from pointsman.bench.subscriptions_files import FORMS, FileRow, measure_files
from pointsman.bench.subscriptions_live import measure_live
from pointsman.bench.subscriptions_peers import loop, regular_expression
from pointsman.bench.subscriptions_plot import draw_subscriptions
from pointsman.bench.subscriptions_required import required
from pointsman.bench.subscriptions_rows import COLUMNS, JOIN, LIVE, LOOP, SPARK, Row
from pointsman.bench.subscriptions_updates import KEPT, changes, measure_updates
from pointsman.bench.terms_data import KEYS
from pointsman.cli import bench_tables
from pointsman.cli.main import app
from pointsman.matching.terms import Matcher, glob_matches, lexemes
from pointsman.store.queue import Queue
from pointsman.subscriptions.columns import SubscriptionIndex
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.reading import read_subscription
from pointsman.subscriptions.registry import Registry


def test_subscriptions_are_of_all_kinds_and_three_in_ten_matchers_have_wildcards() -> None:
    """Under five keys; messages have values of 1 to 12 words."""
    data = make_data(3_000, 200)
    rows = data.table.to_pylist()
    assert len({row["subscription_id"] for row in rows}) == 3_000
    own = [row["includes"]["matchers"][0] for row in rows]
    assert {matcher["key"] for matcher in own} == set(KEYS)
    wild = sum("*" in matcher["pattern"] or "?" in matcher["pattern"] for matcher in own)
    assert 0.25 < wild / len(own) < 0.35
    kinds = Counter(
        (len(row["includes"]["matchers"]), row["includes"]["all"], len(row["excludes"]["matchers"])) for row in rows
    )
    assert set(kinds) == {(1, False, 0), (2, False, 0), (2, True, 0), (1, False, 1)}
    assert kinds[2, True, 0] == pytest.approx(3_000 * SHARES[BESIDE], rel=0.2)
    assert kinds[1, False, 1] == pytest.approx(3_000 * SHARES[WITHOUT], rel=0.3)
    words = [len(value.split()) for message in data.messages for _, value in message]
    assert min(words) == 1
    assert 10 <= max(words) <= 12


def test_messages_reach_about_as_many_whatever_their_number() -> None:
    """Which is what makes the rates comparable."""
    reached = []
    for size in (1_000, 30_000):
        data = make_data(size, 500)
        reached.append(SubscriptionIndex.build(data.table).match(None, data.metadata).num_rows / 500)
    assert 5 < reached[0] < 12
    assert reached[1] == pytest.approx(reached[0], rel=0.2)


def test_the_loop_and_the_live_form_find_what_the_columns_find(tmp_path: Path) -> None:
    """On the same messages."""
    data = make_data(400, 60)
    found = SubscriptionIndex.build(data.table).match(None, data.metadata).num_rows
    assert found > 100
    assert loop(data.table)(data.messages) == found
    row = measure_live(data.table, data.messages, tmp_path, lambda _: None)
    assert (row.way, row.matches, row.messages) == (LIVE, found, 60)
    assert row.update_median is not None
    assert row.update_p90 is not None
    assert row.update_mean is not None
    assert 0 < row.update_median <= row.update_p90
    assert row.update_mean > 0


def test_changes_are_creates_changes_and_deletes_that_the_live_form_takes_up() -> None:
    """Half of the changes are to what is there already."""
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        for number in range(50):
            stored = {"id": str(number), "owner": "o", "destinations": ["d"], "condition": {"key": "k", "pattern": "v"}}
            registry.create(read_subscription(stored))
        kinds = Counter(changes(registry, KEPT + 10))
        assert kinds == {"create": KEPT + 10, "change": KEPT + 10, "delete": 10}
        assert registry.count() == 50 + KEPT
        assert len(registry.by_matcher(Matcher("k", "v"), limit=100)) == 50 + KEPT // 2
        live = LiveSubscriptions(queue.store)
        updates = measure_updates(queue, live, [[("k", "v")]], changes(registry, 1))
        assert 0 < updates.median <= updates.p90
        live.close()


@pytest.mark.parametrize("partial", [False, True])
def test_the_regular_expressions_say_what_the_matchers_say(partial: bool) -> None:
    """On words between blanks."""
    for pattern in ("ba", "ba*", "*be", "b?", "b*e", *(() if partial else ("*", "ba be", "b* b*"))):
        regex = re.compile(regular_expression(pattern, partial))
        for text in ("ba", "babe", "ba be", "be ba", "x ba be", "bab", ""):
            parts = lexemes(text) if partial else [text]
            expected = any(glob_matches(pattern, part) for part in parts)
            assert (regex.search(text) is not None) == expected, (pattern, text)


ROW = Row(COLUMNS, 10_000, 100, 900, 1.0, 1.0, 10)


@pytest.mark.parametrize("way", [COLUMNS, SPARK, LIVE])
def test_a_third_of_the_rate_must_be_left_for_as_many_matches(way: str) -> None:
    """From ten thousand to a million."""
    few = replace(ROW, way=way)
    most = replace(few, subscriptions=1_000_000)
    assert [(each.measured, each.held) for each in required([few, replace(most, seconds=2.9)])] == [
        (1.0, True),
        (pytest.approx(1 / 2.9), True),
    ]
    assert [each.held for each in required([few, replace(most, seconds=3.1, matches=1_200)])] == [False, False]
    assert required([few]) == []


def test_a_change_must_be_taken_up_in_fifty_microseconds() -> None:
    """With a million subscriptions: on the average, and nine times in ten."""
    row = replace(ROW, way=LIVE, subscriptions=1_000_000, update_median=10.0, update_p90=60.0, update_mean=50.0)
    assert [(each.measured, each.held) for each in required([row])] == [(50.0, True), (60.0, False)]
    assert required([replace(row, subscriptions=10_000)]) == []


def test_a_million_must_be_imported_and_exported_in_ten_seconds(tmp_path: Path) -> None:
    """In both formats; what is measured is what is exported from one file and imported into another."""
    slow = FileRow("Parquet", 1_000_000, 9.0, 11.0)
    assert [(round(each.measured), each.held) for each in required([], [slow])] == [(90_909, False), (111_111, True)]
    assert required([], [replace(slow, subscriptions=10_000)]) == []
    with Queue(tmp_path / "queue.db") as queue:
        registry = Registry(queue.store)
        registry.create(read_subscription({"id": "a", "owner": "o", "destinations": ["d"], "pattern": "a.>"}))
    measured = list(measure_files(tmp_path / "queue.db", tmp_path))
    assert [(row.form, row.subscriptions) for row in measured] == [("JSON Lines", 1), ("Parquet", 1)]
    for ending in FORMS.values():
        with Queue(tmp_path / f"all.{ending}.db") as queue:
            assert Registry(queue.store).count() == 1


def test_peers_are_compared_where_they_were_measured() -> None:
    """Each with its own kind."""
    rows = [ROW, replace(ROW, way=SPARK), replace(ROW, way=LOOP, seconds=100.0), replace(ROW, way=JOIN, seconds=99.0)]
    assert [(each.measured, each.held) for each in required(rows)] == [(100.0, True), (99.0, False)]


def test_the_command_prints_its_rows_and_draws_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a table, as JSON and as a picture."""
    rows = [
        replace(ROW, mode="broadcast: as asked for"),
        replace(ROW, way=LOOP, seconds=1_000.0, build_seconds=None),
        replace(ROW, way=LIVE, update_median=12.34, update_p90=45.67, update_mean=23.45),
    ]
    files = [FileRow("JSON Lines", 1_000_000, 8.0, 5.0)]
    results = {"rows": rows, "files": files, "required": required(rows, files)}
    bench_tables.show_subscriptions(results)
    shown = capsys.readouterr().out
    assert "broadcast: as asked for" in shown
    assert "0.10" in shown
    assert re.search(r"10,000 .*12\.3 .*45\.7 .*23\.4", shown)
    assert "10,000.0" in shown
    assert re.search(r"JSON Lines .*1,000,000 .*200,000 .*125,000", shown)
    draw_subscriptions(results, tmp_path / "direct.png")
    monkeypatch.setattr(subscriptions, "run", lambda _quick, _progress: results)
    picture = tmp_path / "x.png"
    printed = CliRunner().invoke(app, ["bench", "subscriptions", "--quick", "--json", "--plot", str(picture)])
    assert printed.exit_code == 0
    assert json.loads(printed.stdout)["rows"][0]["way"] == COLUMNS
    assert picture.stat().st_size > 1_000
