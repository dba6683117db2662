"""Gates: one of them holds whenever the condition does; and what is decided from the leaves that hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from pointsman.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExactlyOneOf,
    Group,
    Matcher,
    Negated,
    NumberComparison,
    Subscription,
)
from pointsman.subscriptions.deciding import decide
from pointsman.subscriptions.gates import Leaf, gates, leaves
from tests.subscriptions.strategies import conditions, metadata

CASES = Path(__file__).parent.parent / "conformance" / "conditions.json"
A, B, C = Matcher("a", "1"), Matcher("b", "x*yz"), Matcher("c", "*")
LARGE = NumberComparison("size", ">", 5)


@settings(max_examples=500)
@given(conditions, metadata)
def test_a_gate_holds_whenever_the_condition_does(condition: Condition, pairs: dict[str, str]) -> None:
    """So that nobody is missed who is found by the gates alone."""
    found = gates(condition)
    if found is not None and condition.holds(pairs):
        assert any(leaf.holds(pairs) for leaf in found)


@settings(max_examples=500)
@given(conditions, metadata)
def test_what_is_decided_from_the_leaves_is_what_the_condition_says(
    condition: Condition, pairs: dict[str, str]
) -> None:
    """Each leaf is asked as if it were known already."""
    assert decide(condition, lambda leaf: leaf.holds(pairs)) == condition.holds(pairs)


@given(conditions, metadata)
def test_every_leaf_is_listed_once(condition: Condition, pairs: dict[str, str]) -> None:
    """What holds of the listed ones decides the condition."""
    listed = leaves(condition)
    held = {leaf for leaf in listed if leaf.holds(pairs)}
    assert len(set(listed)) == len(listed)
    assert decide(condition, held.__contains__) == condition.holds(pairs)
    assert set(gates(condition) or ()) <= set(listed)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (A, (A,)),
        (LARGE, (LARGE,)),
        (AllOf((C, B, A)), (A,)),
        (AllOf((C, LARGE, B)), (B,)),
        (AllOf((AnyOf((A, Matcher("a", "2"))), C)), (C,)),
        (AnyOf((A, B, A)), (A, B)),
        (AnyOf((A, Negated(B))), None),
        (ExactlyOneOf((A, B)), (A, B)),
        (ExactlyOneOf((A, Negated(B))), None),
        (Negated(A), None),
        (AllOf((Negated(A), B)), (B,)),
        (AllOf((Negated(A), Negated(B))), None),
        (Negated(Negated(A)), (A,)),
        (Negated(AnyOf((B, Negated(A)))), (A,)),
        (Negated(AllOf((Negated(A), Negated(B)))), (A, B)),
        (Negated(AllOf((Negated(A), B))), None),
        (Negated(ExactlyOneOf((Negated(A), Negated(B)))), None),
        (Negated(Subscription(Group(matchers=(A,)))), None),
        (Subscription(Group(True, (C, A, B)), Group(matchers=(Matcher("d", "4"),))), (A,)),
        (Subscription(Group(False, (C, A, C))), (C, A)),
    ],
)
def test_the_gates_are_few_and_narrow(condition: Condition, expected: tuple[Leaf, ...] | None) -> None:
    """An exact value before a wildcard, and one leaf before several."""
    assert gates(condition) == expected


def test_the_least_used_gate_is_taken_where_uses_are_known() -> None:
    """Also if it is several leaves, or a wildcard; but one that every value fits is taken last."""
    used = {A: 1_000, B: 10, C: 20, LARGE: 0}
    assert gates(AllOf((A, B)), used.__getitem__) == (B,)
    assert gates(AllOf((A, AnyOf((B, LARGE)))), used.__getitem__) == (B, LARGE)
    assert gates(AllOf((A, C)), used.__getitem__) == (A,)
    assert gates(Subscription(Group(True, (A, B, C))), used.__getitem__) == (B,)


def counted(name: str, group: dict[str, Any]) -> tuple[Group, dict[str, str]]:
    """A group of so many matchers, and metadata for which so many of them hold."""
    matchers = tuple(Matcher(f"{name}{number}", "yes") for number in range(group["total"]))
    return Group(group["all"], matchers), {f"{name}{number}": "yes" for number in range(group["matched"])}


def test_the_conformance_cases_are_found_by_their_gates_and_decided() -> None:
    """Those of the document: nobody who matches is missed, and the excludes are heeded."""
    checked = 0
    for case in json.loads(CASES.read_text(encoding="utf-8")):
        if case["kind"] != "groups" or not case["includes"]["total"]:
            continue
        includes, included = counted("includes", case["includes"])
        excludes, excluded = counted("excludes", case["excludes"])
        condition = Subscription(includes, excludes)
        held = {leaf for leaf in leaves(condition) if leaf.holds(included | excluded)}
        found = held.intersection(gates(condition) or ())
        assert (bool(found) and decide(condition, held.__contains__)) == case["expected"]
        checked += 1
    assert checked > 3
