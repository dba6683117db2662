"""The cases of the wildcard-subscription document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pointsman.conformance import judge, load_cases
from pointsman.errors import InputError

CASES = Path(__file__).parent.parent / "conformance" / "conditions.json"

NONE = {"all": False, "matched": 0, "total": 0}
ONE = {"all": False, "matched": 1, "total": 1}


def test_every_case_of_the_document_passes() -> None:
    """Lexemes, matchers and groups."""
    outcomes = [judge(case) for case in load_cases(CASES)]
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert {case["kind"] for case in load_cases(CASES)} == {"lexemes", "matcher", "groups"}


@pytest.mark.parametrize(
    "case",
    [
        {"kind": "lexemes", "input": "a b.", "lexemes": ["a", "b"]},
        {"kind": "matcher", "pattern": "a?", "key": None, "value": "ab", "expected": True},
        {"kind": "matcher", "pattern": "*", "key": "k", "value": None, "partial": False, "expected": False},
        {"kind": "matcher", "pattern": "*", "key": "k", "value": "...", "partial": True, "expected": False},
        {"kind": "groups", "includes": ONE, "expected": True},
        {"kind": "groups", "includes": NONE, "excludes": NONE, "expected": False},
        {"kind": "groups", "includes": ONE, "excludes": {"all": True, "matched": 1, "total": 2}, "expected": True},
        {"kind": "groups", "includes": {"all": True, "matched": 1, "total": 2}, "excludes": NONE, "expected": False},
        {
            "kind": "groups",
            "includes": {"all": True, "matchers": [{"key": "a", "pattern": "b*"}, {"pattern": "c", "partial": True}]},
            "excludes": {"all": False, "matchers": []},
            "metadata": {"a": "b c"},
            "expected": True,
        },
    ],
)
def test_a_right_expectation_passes_and_its_opposite_fails(case: dict[str, Any]) -> None:
    """The judge can say yes and no."""
    assert judge(case).passed
    wrong = {"lexemes": ["x"]} if case["kind"] == "lexemes" else {"expected": not case["expected"]}
    assert not judge({**case, **wrong}).passed


@pytest.mark.parametrize(
    "case",
    [
        {"kind": "other"},
        {"kind": "lexemes", "input": 5, "lexemes": []},
        {"kind": "lexemes", "input": "a"},
        {"kind": "matcher", "pattern": "a", "key": "k", "expected": True},
        {"kind": "matcher", "pattern": 5, "key": "k", "value": "a", "expected": True},
        {"kind": "matcher", "pattern": "a", "key": "k", "value": "a", "partial": "no", "expected": True},
        {"kind": "groups", "includes": {"all": False}, "excludes": NONE, "expected": True},
        {"kind": "groups", "includes": 5, "excludes": NONE, "expected": True},
        {"kind": "groups", "includes": {"all": False, "matchers": [{"pattern": "a"}]}, "expected": True},
    ],
)
def test_what_is_no_case_is_refused(case: dict[str, Any]) -> None:
    """A mistake in the file must not count as a passed case."""
    with pytest.raises(InputError) as caught:
        judge(case)
    assert caught.value.code == "bad-case"
