"""Generated predicates against a second reading of what they mean."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.conditions import Predicate, can_hold
from pointsman.conditions.compiler import boolean_of, compile_like, number_of, with_backslashes
from pointsman.errors import PredicateError
from pointsman.message import Message
from tests.conditions import reference
from tests.conditions.strategies import messages, render, texts, trees


@settings(max_examples=400, deadline=None)
@given(trees, st.lists(messages, min_size=1, max_size=3))
def test_a_predicate_means_what_the_reference_says(tree: tuple[Any, ...], sent: list[Message]) -> None:
    """TRUE, FALSE and NULL alike, and it holds only where it is TRUE."""
    predicate = Predicate(render(tree))
    for message in sent:
        expected = reference.value_of(tree, message)
        assert predicate.value(message) is expected
        assert predicate.holds(message) is (expected is True)


@settings(max_examples=300, deadline=None)
@given(trees, st.lists(messages, min_size=1, max_size=5))
def test_a_predicate_that_holds_is_never_said_to_hold_never(tree: tuple[Any, ...], sent: list[Message]) -> None:
    """Whatever the predicate is."""
    predicate = Predicate(render(tree))
    if any(predicate.holds(message) for message in sent):
        assert can_hold(predicate.tree)


@settings(deadline=None)
@given(texts, st.text("ab%_!", max_size=8), st.booleans())
def test_like_finds_what_the_reference_finds(text: str, pattern: str, ignore_case: bool) -> None:
    """For patterns of all shapes."""
    fits = compile_like(with_backslashes(pattern, None), ignore_case)
    assert fits(text) is reference.like(text, pattern, None, ignore_case)


def test_like_is_right_for_all_short_patterns_and_texts() -> None:
    """Up to five signs, and up to four characters."""
    short = ["".join(signs) for size in range(5) for signs in itertools.product("ab", repeat=size)]
    for size in range(6):
        for signs in itertools.product("ab%_", repeat=size):
            pattern = "".join(signs)
            fits = compile_like(pattern)
            assert [fits(text) for text in short] == [reference.like(text, pattern, None, False) for text in short]


@given(texts | st.floats(allow_nan=False, allow_infinity=False).map(repr) | st.integers().map(str))
def test_a_text_is_a_number_if_json_says_so(text: str) -> None:
    """And a boolean likewise."""
    assert number_of(text) == reference.as_kind_of(1.0, text)
    assert boolean_of(text) is reference.as_kind_of(True, text)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "(",
                ")",
                "and",
                "or",
                "not",
                "is",
                "null",
                "true",
                "in",
                "between",
                "like",
                "escape",
                "'a'",
                "1",
                "-",
                ",",
                "=",
                "<",
                "id",
                "body",
                ".",
                "[",
                "]",
                "metadata",
                "x",
                '"',
                "'",
                "--",
                "/*",
                "*",
                ";",
                "\n",
                "case",
                "select",
                "!",
                "::",
                "$$",
            ]
        ),
        max_size=12,
    ).map(" ".join)
    | st.text(max_size=20)
)
def test_any_text_is_a_predicate_or_an_error_with_a_place(text: str) -> None:
    """No other error comes out, and the column lies in the text or just behind it."""
    try:
        Predicate(text)
    except PredicateError as error:
        assert error.column is not None
        assert 1 <= error.column <= len(text) + 1


@pytest.mark.parametrize("text", ["%a" * 2000, "_a%" * 1000, "%" * 5000 + "_" * 4000, "%a_b" * 2000])
def test_no_pattern_makes_like_slow(text: str) -> None:
    """Those that make a backtracking matcher run for ever come to an end."""
    fits = compile_like(text)
    assert not fits("a" * 1999 + "b" * 1)
    assert not fits("")
