"""Conditions on metadata, and what they look like as data."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExactlyOneOf,
    Group,
    Matcher,
    Negated,
    NumberComparison,
    Predicate,
    Subscription,
    read_condition,
    write_condition,
)
from pointsman.conditions.serialize import MAX_CONDITIONS, MAX_NESTING, MAX_WILD_BYTES
from pointsman.errors import InputError
from pointsman.message import Message
from tests.conditions.strategies import numbers, operators, texts

METADATA = {"title": "Twin Sterile Neutrino Dark Matter", "size": "10", "language": "fi"}

keys = st.none() | st.sampled_from(["title", "size", "language", ""])
matchers = st.builds(Matcher, keys, texts | st.sampled_from(["*", "?eutrino", "fi", "1?"]), st.booleans())
groups = st.builds(Group, st.booleans(), st.lists(matchers, max_size=3).map(tuple))
conditions: st.SearchStrategy[Condition] = st.recursive(
    matchers
    | st.builds(NumberComparison, keys, operators, numbers | st.floats(allow_nan=False, allow_infinity=False))
    | st.builds(Subscription, groups.filter(lambda group: group.matchers), groups),
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(ExactlyOneOf, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Negated, inner),
    ),
    max_leaves=5,
)
metadata = st.dictionaries(st.sampled_from(["title", "size", "language", ""]), texts, max_size=3)


@given(conditions, metadata)
def test_what_is_written_is_read_as_an_equal_condition(condition: Condition, values: dict[str, str]) -> None:
    """Through JSON, and it holds for the same metadata."""
    again = read_condition(json.loads(json.dumps(write_condition(condition))))
    assert again == condition
    assert again.holds(values) is condition.holds(values)


@given(st.sampled_from(["title", "size"]), operators, numbers, metadata)
def test_a_number_is_read_as_in_a_predicate(key: str, operator: Any, number: float, values: dict[str, str]) -> None:
    """The two ways to compare agree; NULL is what does not hold."""
    compared = Predicate(f"metadata.{key} {operator} {number}").holds(Message("a", metadata=values))
    assert NumberComparison(key, operator, number).holds(values) is compared


@pytest.mark.parametrize("count", [2, 3, 4])
def test_and_or_xor_and_not_over_all_combinations(count: int) -> None:
    """Xor holds when exactly one does."""
    parts = tuple(Matcher(str(place), "yes") for place in range(count))
    for choice in itertools.product([True, False], repeat=count):
        values = {str(place): "yes" if chosen else "no" for place, chosen in enumerate(choice)}
        assert AllOf(parts).holds(values) is all(choice)
        assert AnyOf(parts).holds(values) is any(choice)
        assert ExactlyOneOf(parts).holds(values) is (choice.count(True) == 1)
        assert Negated(parts[0]).holds(values) is not choice[0]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"key": "title", "pattern": "?eutrino", "partial": True}, True),
        ({"key": "title", "pattern": "?eutrino"}, False),
        ({"key": None, "pattern": "f?"}, True),
        ({"pattern": "f?"}, True),
        ({"key": "author", "pattern": "*"}, False),
        ({"not": {"key": "author", "pattern": "*"}}, True),
        ({"key": "size", "number": {">": 9.5}}, True),
        ({"key": "size", "number": {"!=": 10}}, False),
        ({"key": "title", "number": {"<>": 10}}, False),
        ({"key": "author", "number": {"<": 10}}, False),
        ({"number": {"=": 10}}, True),
        ({"includes": {"matchers": [{"pattern": "fi"}, {"pattern": "no"}]}}, True),
        ({"includes": {"all": True, "matchers": [{"pattern": "fi"}, {"pattern": "no"}]}}, False),
        ({"includes": {"all": True, "matchers": [{"pattern": "fi"}, {"pattern": "fi"}]}}, True),
        ({"includes": {"matchers": [{"pattern": "fi"}]}, "excludes": {"all": True, "matchers": []}}, True),
        ({"includes": {"matchers": [{"pattern": "fi"}]}, "excludes": {"matchers": [{"pattern": "10"}]}}, False),
        (
            {
                "includes": {"matchers": [{"pattern": "fi"}]},
                "excludes": {"all": True, "matchers": [{"pattern": "10"}, {"pattern": "no"}]},
            },
            True,
        ),
    ],
)
def test_each_form_of_the_page(data: dict[str, Any], expected: bool) -> None:
    """Read from data, for one message."""
    assert read_condition(data).holds(METADATA) is expected


def nested(depth: int) -> dict[str, Any]:
    """Conditions one in the other."""
    data: dict[str, Any] = {"pattern": "a"}
    for _ in range(depth - 1):
        data = {"not": data}
    return data


def shared(depth: int) -> dict[str, Any]:
    """A small object, by its aliases, of two to the depth conditions."""
    data: dict[str, Any] = {"pattern": "a"}
    for _ in range(depth):
        data = {"and": [data, data]}
    return data


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (5, ""),
        ([], ""),
        ({}, ""),
        ({"key": "a"}, ""),
        ({"also": []}, ""),
        ({"and": []}, "and"),
        ({"or": []}, "or"),
        ({"xor": [{"pattern": "a"}]}, "xor"),
        ({"and": {"pattern": "a"}}, "and"),
        ({"and": [{"pattern": "a"}, 5]}, "and[1]"),
        ({"and": [{"pattern": "a"}], "or": []}, "or"),
        ({"and": [{"pattern": "a"}, {"not": {"key": 5, "pattern": "a"}}]}, "and[1].not.key"),
        ({"not": {"xor": [{"pattern": "a"}, {"pattern": None}]}}, "not.xor[1].pattern"),
        ({"pattern": "a", "partial": 1}, "partial"),
        ({"pattern": "a", "case": True}, "case"),
        ({"pattern": "a", "number": {">": 5}}, "pattern"),
        ({"pattern": "\ud800"}, "pattern"),
        ({"pattern": "*" + "é" * (MAX_WILD_BYTES // 2)}, "pattern"),
        ({"key": "a", "number": 5}, "number"),
        ({"key": "a", "number": {}}, "number"),
        ({"key": "a", "number": {">": 5, "<": 7}}, "number"),
        ({"key": "a", "number": {"~": 5}}, "number"),
        ({"key": "a", "number": {">": "5"}}, "number.>"),
        ({"key": "a", "number": {">": True}}, "number.>"),
        ({"key": "a", "number": {">": float("nan")}}, "number.>"),
        ({"key": "a", "number": {">": 10**400}}, "number.>"),
        ({"includes": {"matchers": []}}, "includes.matchers"),
        ({"includes": {"all": True}}, "includes"),
        ({"includes": None}, "includes"),
        ({"excludes": {"matchers": [{"pattern": "a"}]}}, ""),
        ({"includes": {"matchers": [{"pattern": "a"}], "any": True}}, "includes.any"),
        ({"includes": {"matchers": [{"pattern": "a"}], "all": "yes"}}, "includes.all"),
        ({"includes": {"matchers": [{"pattern": "a"}, {"key": "a"}]}}, "includes.matchers[1]"),
        ({"includes": {"matchers": [{"pattern": "a"}]}, "excludes": {"matchers": [5]}}, "excludes.matchers[0]"),
        ({"or": [{"includes": {"matchers": [{"not": {}}]}}]}, "or[0].includes.matchers[0].not"),
        (nested(MAX_NESTING + 1), ".".join(["not"] * MAX_NESTING)),
    ],
)
def test_what_is_no_condition_is_refused_at_its_place(data: object, path: str) -> None:
    """The place inside the data is named in the problem, and is the text of the error."""
    with pytest.raises(InputError) as caught:
        read_condition(data)
    assert (caught.value.code, caught.value.text) == ("bad-condition", path)
    assert caught.value.problem.startswith(f"{path or 'the condition'}: ")


def test_the_limits_are_no_narrower_than_they_say() -> None:
    """As deep and as many as is allowed; aliases do not get round it."""
    assert isinstance(read_condition(nested(MAX_NESTING)), Negated)
    many = [{"pattern": "a"}] * (MAX_CONDITIONS - 1)
    assert read_condition({"and": many}).holds({"k": "a"})
    assert read_condition({"pattern": "x" * (MAX_WILD_BYTES + 1)}).holds({"k": "x" * (MAX_WILD_BYTES + 1)})
    for data in ({"and": [*many, {"pattern": "a"}]}, shared(30), {"includes": {"matchers": [*many, {"pattern": "a"}]}}):
        with pytest.raises(InputError, match="more than 10000 conditions"):
            read_condition(data)


def test_a_pattern_is_as_long_as_the_index_takes() -> None:
    """So that a condition that is read can also be indexed."""
    from pointsman.matching.terms.kernels.anchor import LONGEST

    assert MAX_WILD_BYTES == LONGEST


def test_conditions_that_say_nothing_cannot_be_made() -> None:
    """Nor comparisons with no number."""
    for make in (lambda: AllOf(()), lambda: AnyOf(()), lambda: ExactlyOneOf((Matcher(None, "a"),))):
        with pytest.raises(InputError, match="or more conditions"):
            make()
    with pytest.raises(InputError, match="is no operator"):
        NumberComparison("a", "~", 5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="64-bit float"):
        NumberComparison("a", "=", float("inf"))


def test_a_group_with_its_arguments_swapped_is_an_error_where_it_is_made() -> None:
    """And not when the first message is matched."""
    with pytest.raises(TypeError, match="all is a bool, not tuple"):
        Group((Matcher("a", "b"),), True)  # type: ignore[arg-type]
    assert Group(True, [Matcher("a", "b")]).holds({"a": "b"})  # type: ignore[arg-type]
