"""The live index of matchers finds what each matcher by itself says, whatever came and went before."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.matching.terms import Matcher, lexemes, live_wild
from pointsman.matching.terms.glob import glob_matches
from pointsman.matching.terms.live import LiveTermIndex
from pointsman.matching.terms.live_wild import FEW, fits

values = st.text("abbé日 *?", max_size=12) | st.sampled_from(["abab" * 9 + "é", "a b ab b.a 1,2 é", "don't a_b"])
patterns = st.lists(st.sampled_from(["a", "b", "ab", "é", "日", " ", "?", "*", "*", "abab"]), max_size=7).map("".join)
matchers = st.builds(Matcher, st.sampled_from(["k", "l", "", None]), patterns, st.booleans())
metadata = st.dictionaries(st.sampled_from(["k", "l", "m", ""]), values, max_size=4)


def found(index: LiveTermIndex, message: dict[str, str]) -> set[int]:
    """The numbers of all matchers that hold for a message."""
    numbers: set[int] = set()
    for partial in (False, True):
        for key, value in message.items():
            numbers.update(index.find(key, lexemes(value) if partial else [value], partial=partial))
        everything = [text for value in message.values() for text in (lexemes(value) if partial else [value])]
        numbers.update(index.find(None, everything, partial=partial))
    return numbers


@given(st.lists(matchers, max_size=60, unique=True), st.lists(st.integers(0, 59)), metadata)
def test_exactly_those_are_found_that_hold(some: list[Matcher], gone: list[int], message: dict[str, str]) -> None:
    """Before some are taken away, and after."""
    index = LiveTermIndex()
    numbered = dict(enumerate(some))
    for number, matcher in numbered.items():
        index.add(matcher, number)
    assert found(index, message) == {number for number, each in numbered.items() if each.holds(message)}
    for number in gone:
        matcher = numbered.pop(number, None)
        if matcher is not None:
            assert index.remove(matcher, number)
            assert not index.remove(matcher, number)
    assert found(index, message) == {number for number, each in numbered.items() if each.holds(message)}


@given(patterns.filter(lambda text: "*" in text or "?" in text), values)
def test_a_pattern_fits_what_the_reference_says(pattern: str, text: str) -> None:
    """The quick comparison is the slow one."""
    assert fits(pattern, text) is glob_matches(pattern, text)


def test_many_patterns_with_equal_beginnings_and_ends_are_told_apart() -> None:
    """More than are compared one by one, at each of the levels; all go away again without a trace."""
    index = LiveTermIndex()
    words = [f"{first}{second}" for first, second in product("abcd", repeat=2)]
    texts = [f"{a}*{b}*{c}" for a, b, c in product(("", "x"), words, ("", "y"))] + [f"x*{word}" for word in words]
    assert len(words) > FEW
    numbered = {number: Matcher("k", text) for number, text in enumerate(texts)}
    for number, matcher in numbered.items():
        index.add(matcher, number)
    for value in ("xaby", "x ab cd y", "ab", "xab", "aby", "xcdxdc", "", "zzz"):
        expected = [number for number, matcher in numbered.items() if glob_matches(matcher.pattern, value)]
        assert index.find("k", [value], partial=False) == expected
    for number, matcher in numbered.items():
        assert index.remove(matcher, number)
    assert not index.has("k", partial=False)


def test_many_short_beginnings_of_one_end_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are filed under the end at first, and then by themselves."""
    index = LiveTermIndex()
    words = ["".join(letters) for letters in product("abcdefgh", repeat=3)]
    for number, word in enumerate(words):
        index.add(Matcher("k", f"{word}?the end"), number)
    compared: list[str] = []

    def counted(pattern: str, text: str) -> bool:
        compared.append(pattern)
        return fits(pattern, text)

    monkeypatch.setattr(live_wild, "fits", counted)
    assert index.find("k", ["abc the end"], partial=False) == [words.index("abc")]
    assert len(compared) <= FEW
    assert index.find("k", ["the end", "zzz the end", "bc the end"], partial=False) == []
    for number, word in enumerate(words):
        assert index.remove(Matcher("k", f"{word}?the end"), number)
    assert not index.has("k", partial=False)


def test_numbers_come_ascending_and_once() -> None:
    """However many of the texts a matcher fits."""
    index = LiveTermIndex()
    for number, pattern in ((9, "*"), (3, "a"), (5, "a*"), (1, "*b")):
        index.add(Matcher("k", pattern, partial=True), number)
    assert index.find("k", ["a", "ab", "a"], partial=True) == [1, 3, 5, 9]
    assert index.find("k", ["a"], partial=False) == index.find("l", ["a"], partial=True) == []


def test_a_matcher_that_is_not_there_cannot_be_taken_away() -> None:
    """Nor one under another number; and nothing is changed by that."""
    index = LiveTermIndex()
    index.add(Matcher("k", "a"), 1)
    index.add(Matcher("k", "a*"), 2)
    assert not index.remove(Matcher("k", "a"), 2)
    assert not index.remove(Matcher("k", "a*"), 1)
    assert not index.remove(Matcher("k", "b*"), 1)
    assert not index.remove(Matcher("l", "a"), 1)
    assert index.find("k", ["a"], partial=False) == [1, 2]
