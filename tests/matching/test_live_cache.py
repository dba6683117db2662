"""The cache of the live index: what is kept, for how long, and that no change leaves a wrong result in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pointsman.matching.live import SubjectIndex
from pointsman.matching.live_changes import ChangeLog
from pointsman.matching.live_shelf import Shelf
from pointsman.patterns import Pattern


@pytest.fixture
def small() -> Iterator[SubjectIndex[str]]:
    """An index with room for three results."""
    index: SubjectIndex[str] = SubjectIndex("amqp", cache_size=3)
    index.add("a.*", "x")
    yield index
    assert index.stats().cache_entries <= 3


def counted(index: SubjectIndex[str]) -> tuple[int, int]:
    """Misses and dropped results."""
    stats = index.stats()
    return stats.cache_misses, stats.cache_dropped


def test_the_results_used_longest_ago_are_forgotten_first(small: SubjectIndex[str]) -> None:
    """A use counts, not only the first one."""
    for text in ("1", "2", "3"):
        small.match(text)
    small.match("1")
    small.match("4")
    assert counted(small) == (4, 0)
    for text in ("4", "1", "3"):
        small.match(text)
    assert counted(small) == (4, 0)
    small.match("2")
    assert counted(small) == (5, 0)
    small.match("4")
    assert counted(small) == (6, 0)


def test_the_cache_never_holds_more_than_its_size() -> None:
    """However many subjects there are; and with size 0, nothing."""
    for size in (0, 1, 7):
        index: SubjectIndex[str] = SubjectIndex(cache_size=size)
        for number in range(50):
            index.match(f"a.{number}")
            assert index.stats().cache_entries == min(size, number + 1)


@pytest.mark.parametrize("change", ["a.c", "b.*", "b.#", "#.c", "a.*.*", "a.#.c", "ab"])
def test_a_change_leaves_the_results_that_it_does_not_concern(small: SubjectIndex[str], change: str) -> None:
    """They are hits before and after."""
    small.match("a.b")
    small.add(change, "y")
    assert small.match("a.b") == ["x"]
    small.remove(change, "y")
    assert small.match("a.b") == ["x"]
    assert counted(small) == (1, 0)


@pytest.mark.parametrize("change", ["a.b", "*.b", "a.#", "#.b", "#", "#.a.#.b.#"])
def test_a_change_drops_the_results_that_it_concerns(small: SubjectIndex[str], change: str) -> None:
    """The next match sees it, and says that it had to be worked out."""
    small.match("a.b")
    small.add(change, "y")
    assert sorted(small.match("a.b")) == ["x", "y"]
    assert counted(small) == (2, 1)
    small.remove(change, "y")
    assert small.match("a.b") == ["x"]
    assert counted(small) == (3, 2)


def test_a_change_in_another_dialect_is_judged_by_that_dialect(small: SubjectIndex[str]) -> None:
    """A text that is no subject there is not concerned, and case is ignored where it is there."""
    small.match("A..b")
    small.add(Pattern("a.>", "nats"), "y")
    assert small.match("A..b") == []
    assert counted(small) == (1, 0)
    small.add(Pattern("a.**", "zato"), "z")
    assert small.match("A..b") == ["z"]
    assert counted(small) == (2, 1)


def test_a_result_from_before_the_known_changes_is_worked_out_anew(small: SubjectIndex[str]) -> None:
    """Sixty-four changes are remembered, no more; a result that was compared with them is as good as new."""
    small.match("a.b")
    for number in range(64):
        small.add("other", str(number))
    small.match("a.b")
    for number in range(64):
        small.remove("other", str(number))
    small.match("a.b")
    assert counted(small) == (1, 0)
    for number in range(65):
        small.add("other", str(number))
    assert small.match("a.b") == ["x"]
    assert counted(small) == (2, 1)


def test_large_results_and_long_subjects_are_not_kept() -> None:
    """A full cache stays small, and the answers are right all the same."""
    index: SubjectIndex[int] = SubjectIndex()
    for number in range(1_001):
        index.add("a.>", number)
    for _ in range(2):
        assert len(index.match("a.b")) == 1_001
        assert index.match("b" * 1_001) == []
    assert index.stats().cache_entries == 0
    index.remove("a.>", 7)
    assert len(index.match("a.b")) == 1_000
    assert index.stats().cache_entries == 1
    index.add("a.>", 7)
    assert len(index.match("a.b")) == 1_001
    assert index.stats().cache_entries == 0


def test_a_change_made_while_a_result_is_worked_out_is_seen_by_the_next_match(
    small: SubjectIndex[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is as old as the moment at which its working out began."""
    collect = Shelf.collect

    def collect_and_then_change(shelf: Shelf, text: str, found: list[Any]) -> bool:
        valid = collect(shelf, text, found)
        small.add("a.#", "y")
        return valid

    with monkeypatch.context() as patched:
        patched.setattr(Shelf, "collect", collect_and_then_change)
        assert small.match("a.b") == ["x"]
    assert sorted(small.match("a.b")) == ["x", "y"]


def test_a_change_made_while_a_result_is_compared_is_seen_by_the_next_match(
    small: SubjectIndex[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sparing a result from the changes so far says nothing about the next."""
    small.match("a.b")
    small.add("other", "z")
    spares = ChangeLog.spares

    def spare_and_then_change(log: ChangeLog, text: str, since: int, until: int) -> bool:
        spared = spares(log, text, since, until)
        small.add("a.#", "y")
        return spared

    with monkeypatch.context() as patched:
        patched.setattr(ChangeLog, "spares", spare_and_then_change)
        assert small.match("a.b") == ["x"]
    assert sorted(small.match("a.b")) == ["x", "y"]


def test_a_change_is_made_and_noted_under_one_lock(small: SubjectIndex[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time could take the same number, and one of them would never be compared with."""
    record, noted = ChangeLog.record, []

    def note(log: ChangeLog, pattern: Pattern, *, to_all: bool = False) -> None:
        noted.append(small._lock.locked())
        record(log, pattern, to_all=to_all)

    monkeypatch.setattr(ChangeLog, "record", note)
    small.add("a.b", "y")
    small.remove("a.b", "y")
    small.remove("a.*", "x")
    assert noted == [True, True, True]
