"""Rows that are packed for SQLite: however many, however long, they are what the long way stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pointsman.errors import PointsmanError
from pointsman.store.queue import Queue
from pointsman.subscriptions import files
from pointsman.subscriptions.bulk import line_pieces, packed_rows, term_table
from pointsman.subscriptions.bulk.packing import LONGEST_TREE, MOST_USES
from pointsman.subscriptions.files import import_file
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.reading import read_subscription
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.writing import write_subscription
from tests.subscriptions.found import check_consistent, stored
from tests.subscriptions.test_bulk import MANY, both_ways
from tests.subscriptions.test_files import GOOD


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is read by compiled code."""
    monkeypatch.setattr(files, "LARGE", 0)


def written(path: Path, entries: list[dict[str, Any]]) -> Path:
    """A file of these lines."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in entries), encoding="utf-8")
    return path


@pytest.mark.parametrize(("rows", "size"), [(1, 1 << 24), (3, 1 << 24), (1 << 15, 4_000)])
def test_rows_that_do_not_fit_together_are_written_one_part_after_the_other(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, size: int
) -> None:
    """Because of their number, and because of their size."""
    monkeypatch.setattr(packed_rows, "MOST_ROWS", rows)
    monkeypatch.setattr(packed_rows, "MOST_BYTES", size)
    long = [{**GOOD, "id": f"{number}" * 255, "condition": {"pattern": "x" * 900 + f"{number}"}} for number in range(9)]
    path = written(tmp_path / "x.jsonl", [*(write_subscription(each) for each in MANY), *long])
    import_file(registry, path)
    expected: list[WildcardSubscription] = [*MANY, *map(read_subscription, long)]
    assert {each.id: each for each in stored(registry)} == {each.id: each for each in expected}
    assert [each.version for each in registry.list(len(expected))] == list(range(1, len(expected) + 1))
    check_consistent(registry)


def test_ids_are_numbered_in_their_order(registry: Registry, tmp_path: Path) -> None:
    """Whatever they have in common at their beginning; that is the order of their index."""
    ids = [f"the subscription {number}" for number in range(100)]
    import_file(registry, written(tmp_path / "x.jsonl", [{**GOOD, "id": id} for id in ids]))
    assert [each.id for each in stored(registry)] == sorted(ids)


def test_what_many_have_is_counted_though_it_is_more_than_a_packed_row_can_say(
    registry: Registry, tmp_path: Path
) -> None:
    """In one piece."""
    count = MOST_USES + 2
    entries = [{**GOOD, "id": f"{number}", "condition": {"pattern": "a"}} for number in range(count)]
    import_file(registry, written(tmp_path / "x.jsonl", entries))
    check_consistent(registry)
    for number in range(2):
        registry.delete(f"{number}")
    check_consistent(registry)


def test_subscriptions_that_have_little_in_common_are_what_they_were(registry: Registry, tmp_path: Path) -> None:
    """Owners, destinations, patterns, times, descriptions and whether they are enabled."""
    entries = [
        {
            **GOOD,
            "id": f"{number}",
            "owner": f"owner {number % 7}",
            "destinations": ["inbox", "ü"][: 1 + number % 2],
            "pattern": f"a.{number % 5}",
            "enabled": number % 3 > 0,
            "expires": number % 4 + 0.5,
            "description": "a text" * (number % 11),
        }
        for number in range(300)
    ]
    import_file(registry, written(tmp_path / "x.jsonl", entries))
    assert {each.id: each for each in stored(registry)} == {each["id"]: read_subscription(each) for each in entries}
    check_consistent(registry)


def test_a_tree_that_is_too_long_to_be_packed_goes_the_long_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is the same."""
    leaf: Any = {"pattern": "a"}
    for _ in range(30):
        leaf = {"and": [leaf]}
    entries = [{**GOOD, "condition": {"or": [leaf] * count}} | {"id": f"{count}"} for count in (1, 5, 25, 60)]
    slow, quick = both_ways(written(tmp_path / "x.jsonl", entries), monkeypatch)
    assert slow == quick
    assert len(quick) == len(entries)
    assert len(json.dumps(entries[-1])) > LONGEST_TREE


def test_what_comes_later_shares_the_matchers_that_are_there(registry: Registry, tmp_path: Path) -> None:
    """Texts, numbers and the empty text; from a file that was imported before, and from a line that is not plain."""
    conditions = [
        {"key": "a", "pattern": "b"},
        {"pattern": ""},
        {"or": [{"key": "a", "number": {">": 5}}, {"number": {"=": 0.25}}, {"pattern": "ü*", "partial": True}]},
    ]
    for turn in range(3):
        entries = [{**GOOD, "id": f"{turn} {place}", "condition": each} for place, each in enumerate(conditions)]
        odd = {**GOOD, "id": f'{turn} "', "condition": {"pattern": "only here \\"}}
        import_file(registry, written(tmp_path / "x.jsonl", [*entries, odd]))
        assert len(registry.matchers()) == 6
        check_consistent(registry)
    while page := registry.list(4):
        for entry in page:
            registry.delete(entry.subscription.id)
        check_consistent(registry)
    assert registry.matchers() == []


def test_terms_that_were_forgotten_are_found_in_the_file_again(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within one import, when there are too many to be kept."""
    monkeypatch.setattr(term_table, "MOST", 2)
    monkeypatch.setattr(line_pieces, "BYTES", 300)
    import_file(registry, written(tmp_path / "x.jsonl", [write_subscription(each) for each in MANY]))
    assert {each.id: each for each in stored(registry)} == {each.id: each for each in MANY}
    check_consistent(registry)


def test_an_id_that_is_there_already_is_named_among_many(tmp_path: Path) -> None:
    """And nothing of the file is stored."""
    path = written(tmp_path / "x.jsonl", [{**GOOD, "id": f"{number:05}"} for number in range(500)])
    with Queue(":memory:") as queue:
        registry = Registry(queue.store)
        registry.create(read_subscription({**GOOD, "id": "00321"}))
        with pytest.raises(PointsmanError, match="there is a subscription '00321' already"):
            import_file(registry, path)
        assert registry.count() == len(registry.list(10)) == 1
        check_consistent(registry)
