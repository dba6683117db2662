"""Predicates that can never hold."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pointsman.conditions import Predicate, can_hold
from pointsman.message import Message

VALUES = [None, True, False, 0, 1, 1.5, 2, 3, "", "a", "ab", "b", "1", "2", "true", "false", "1.5", [], {}]
MESSAGES = [Message("a", json.dumps({"a": a, "b": b}).encode()) for a, b in itertools.product(VALUES, repeat=2)]

NEVER = [
    "FALSE",
    "NULL",
    "NOT TRUE",
    "FALSE OR NULL",
    "TRUE AND NULL",
    "body.a = NULL",
    "body.a NOT IN (1, NULL)",
    "body.a > 5 AND body.a < 3",
    "body.a > 5 AND body.a < 5",
    "body.a >= 5 AND body.a <= 5 AND body.a <> 5",
    "body.a > 1 AND body.a < 1.0000000000000002",
    "body.a BETWEEN 5 AND 3",
    "body.a > 1.7976931348623157e308",
    "body.a = 'x' AND body.a = 'y'",
    "body.a > 'b' AND body.a < 'a'",
    "body.a < ''",
    "body.a > 'b' AND body.a <= 'b'",
    "body.a <= 'b' AND body.a < 'b' AND body.a >= 'b'",
    "body.a < 'b' AND body.a <= 'b' AND body.a >= 'b'",
    "body.a AND body.a IS NOT NULL AND body.a > TRUE",
    "body.a = '10' AND body.a > 50",
    "body.a = 'x' AND body.a > 1",
    "body.a IS NULL AND body.a = 1",
    "body.a IS NULL AND body.a IS NOT NULL",
    "body.a IS TRUE AND body.a IS FALSE",
    "body.a AND NOT body.a",
    "body.a AND body.a > 1",
    "body.a AND body.a = 'yes'",
    "body.a LIKE 'x%' AND body.a LIKE 'y%'",
    "body.a LIKE 'x%' AND body.a NOT LIKE 'x%'",
    "body.a LIKE 'b%' AND body.a < 'b'",
    "body.a IN (1, 2) AND body.a IN (3, 4)",
    "body.a IN ('x', 'y') AND body.a LIKE 'z%'",
    "body.a IN (1, 2) AND body.a NOT IN (1, 2)",
    "NOT (body.a > 1 OR body.a <= 1)",
    "body.a = 1 AND (body.a = 2 OR body.a = 3 AND TRUE)",
    "(body.a = 1) IS TRUE AND body.a = 2",
    "subject IS NULL",
    "id = ''",
    "(subject IS NULL) IS NULL",
    "time > '2026-01-01T00:00:00Z' AND time < '2025-01-01T00:00:00Z'",
    "time > '2026-01-01T00:00:00Z' AND time <= '2026-01-01T01:00:00+01:00'",
]
POSSIBLE = [
    "NOT body.a < 5 AND body.a <= 5",
    "NOT body.a > 5 AND body.a >= 5",
    "NOT body.a <= 5 AND NOT body.a >= 6",
    "NOT body.a <> 5 AND NOT body.b = 5",
    "body.a >= 'b' AND body.a <= 'b'",
    "TRUE",
    "body.a > 5 AND body.b < 3",
    "body.a > 5 OR FALSE",
    "body.a = '10' AND body.a > 5",
    "body.a = 'true' AND body.a",
    "body.a >= 5 AND body.a <= 5",
    "body.a > 'a' AND body.a < 'b'",
    "body.a NOT IN (1, 2)",
    "NOT body.a",
    "body.a LIKE 'x%' AND body.a LIKE 'xy%' AND body.a LIKE '%z'",
    "(body.a > 1) IS NULL AND body.a = 'x'",
    "body.a LIKE '\U0010ffff%'",
    "body.a LIKE '\ud7ff%' AND body.a > '\ud7ffx'",
    "body.a ILIKE 'A%' AND body.a LIKE 'a%'",
    "metadata.a IS NULL",
    "time IS NULL",
    "body.a <> 1",
    "time >= '2026-01-01T00:00:00Z' AND time <= '2026-01-01T00:00:00Z'",
]


@pytest.mark.parametrize("text", NEVER)
def test_contradictions_are_found(text: str) -> None:
    """And indeed none of the messages makes them hold."""
    predicate = Predicate(text)
    assert not can_hold(predicate.tree)
    assert not any(predicate.holds(message) for message in MESSAGES)


@pytest.mark.parametrize("text", POSSIBLE)
def test_what_can_hold_is_left_alone(text: str) -> None:
    """No false alarm."""
    assert can_hold(Predicate(text).tree)


_literals = st.sampled_from(["0", "1", "1.5", "2", "''", "'a'", "'b'", "'1'", "'true'", "TRUE", "FALSE", "NULL"])
_leaves = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(["body.a", "body.b"]),
        st.sampled_from(["=", "<>", "<", "<=", ">", ">="]),
        _literals,
    ),
    st.builds(
        "{} {}IN ({}, {})".format,
        st.sampled_from(["body.a", "body.b"]),
        st.sampled_from(["", "NOT "]),
        _literals,
        _literals,
    ),
    st.builds(
        "{} {}LIKE {}".format,
        st.sampled_from(["body.a", "body.b"]),
        st.sampled_from(["", "NOT ", "I"]),
        st.sampled_from(["'a%'", "'%b'", "'_'", "'a_'", "'1%'", "'A'"]),
    ),
    st.sampled_from(["body.a", "body.b", "body.a IS NULL", "body.a IS NOT NULL", "TRUE", "NULL"]),
)
_predicates = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "AND", "OR"]), inner),
        st.builds("(NOT {})".format, inner),
        st.builds(
            "(({}) IS {})".format,
            inner,
            st.sampled_from(["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "NULL", "NOT NULL"]),
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(_predicates)
def test_whatever_some_message_fulfils_can_hold(text: str) -> None:
    """All pairs of small values are tried."""
    predicate = Predicate(text)
    if any(predicate.holds(message) for message in MESSAGES):
        assert can_hold(predicate.tree)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(0, 3)), min_size=1, max_size=4)
)
def test_comparisons_of_one_field_with_numbers_are_decided_exactly(tests: list[tuple[str, int]]) -> None:
    """Halves stand for all that lies between."""
    predicate = Predicate(" AND ".join(f"body {operator} {number}" for operator, number in tests))
    numbers = [half / 2 for half in range(-1, 8)] + [0.25, 1.25, 2.25, 3.25]
    assert can_hold(predicate.tree) == any(predicate.holds(Message("a", str(number).encode())) for number in numbers)


def test_a_contradiction_is_found_among_many_choices() -> None:
    """What is settled is looked at before what is left to choose."""
    choices = " AND ".join(f"(body.c{n} = 1 OR body.d{n} = 1)" for n in range(100))
    assert can_hold(Predicate(choices).tree)
    assert not can_hold(Predicate(f"{choices} AND body.a = 1 AND body.a = 2").tree)
    assert not can_hold(Predicate(f"body.c7 = 'x' AND {choices} AND body.d7 = 'x'").tree)


def test_more_work_than_the_limit_counts_as_possible() -> None:
    """Eight pigeons do not fit into seven holes, but to see that takes too long."""
    placed = ["(" + " OR ".join(f"body.p{p}{hole}=1" for hole in range(7)) + ")" for p in range(8)]
    alone = [
        f"(body.p{one}{hole}<>1 OR body.p{other}{hole}<>1)"
        for hole in range(7)
        for one, other in itertools.combinations(range(8), 2)
    ]
    assert can_hold(Predicate(" AND ".join(placed + alone)).tree)
