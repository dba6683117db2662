"""The index that remembers what it found: the behaviour of every engine, and what becomes of what is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from pointsman.errors import LimitError
from pointsman.matching import compiled, remembered
from pointsman.matching.columns import Texts
from pointsman.matching.compiled import CompiledIndex
from pointsman.matching.remembered import RememberingIndex
from tests.matching.behaviour import Matches, MatchingBehaviour, Patterns
from tests.matching.test_compiled_index import ask, build


class Counting(CompiledIndex):
    """Counts the subjects that it is asked for."""

    asked = 0

    def numbers(self, rows: Texts) -> Any:
        """Counts them."""
        self.asked += len(rows)
        return super().numbers(rows)


class TestRememberingIndex(MatchingBehaviour):
    """Asked for the first time, and again for what it remembers."""

    def match(self, some: Patterns, texts: Sequence[str]) -> Matches:
        """Builds and asks."""
        index = RememberingIndex(build(some)[0])
        first = ask(index, texts)
        assert ask(index, [*reversed(texts)]) == [*reversed(first)]
        return first


def test_subjects_are_matched_once_however_many_columns_they_come_in() -> None:
    """Nulls, invalid subjects, slices and large strings among them."""
    index = Counting.build(["a.*", "a.>", "*.b"], "nats", ids=["one", "two", "three"])
    remembering = RememberingIndex(index)
    column = pa.array(["a.b", None, "a b", "a.b", "", "c", "a.long.subject.of.many.tokens", "a.c"])
    expected = index.match(column)
    index.asked = 0
    assert remembering.match(column) == expected
    assert remembering.match(column.slice(2)) == expected.slice(2)
    assert remembering.match(column.cast(pa.large_string())) == expected
    assert remembering.match(column.slice(0, 0)) == expected.slice(0, 0)
    assert index.asked == 6


def test_texts_that_differ_in_one_byte_or_in_their_length_are_told_apart() -> None:
    """Whatever their lengths."""
    texts = ["x" * size + last + "y" * more for size in range(12) for last in "ab" for more in range(10)]
    index = CompiledIndex.build(texts, "nats")
    assert RememberingIndex(index).match(pa.array(texts)) == index.match(texts)


def test_what_is_full_is_forgotten_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether there are too many subjects, too many bytes of them, or too many patterns that match."""
    texts = [f"a.{number}" for number in range(100)]
    index = CompiledIndex.build(["a.*", "a.>"], "nats")
    for name, most in (("MOST_TEXTS", 64), ("MOST_BYTES", 200), ("MOST_NUMBERS", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(remembered, name, most)
            remembering = RememberingIndex(index)
            for start in (0, 20, 40, 60, 80, 0, 10):
                column = pa.array(texts[start : start + 30])
                assert remembering.match(column) == index.match(column), name
            assert remembering.match(pa.array(texts)) == index.match(texts), name


def test_a_failure_leaves_nothing_half_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that fit no array are an error again when they are asked for again."""
    index = CompiledIndex.build(["a"] * 10, "nats")
    remembering = RememberingIndex(index)
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "MOST_VALUES", 5)
        for _ in range(2):
            with pytest.raises(LimitError, match="10 matches"):
                remembering.match(pa.array(["a"]))
    assert remembering.match(pa.array(["a", "b"])).to_pylist() == [[*range(10)], []]


def test_subjects_that_never_repeat_are_not_looked_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """For longer and longer; and once they do repeat, each is matched once."""
    monkeypatch.setattr(remembered, "JUDGED", 10)
    monkeypatch.setattr(remembered, "LONGEST_REST", 40)
    index = Counting.build(["a.*"], "nats")
    remembering = RememberingIndex(index)
    looked_up = []
    for number in range(20):
        looked_up.append(remembering._rest <= 0)
        remembering.match(pa.array([f"a.{number}.{place}" for place in range(10)]))
    assert looked_up == [True, False, True, False, False, True, *[False] * 4, True, *[False] * 4, True, *[False] * 4]
    index.asked = 0
    for _ in range(20):
        remembering.match(pa.array(["a.b"] * 10))
    assert index.asked == 1
