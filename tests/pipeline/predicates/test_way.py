"""Which way questions go, and why."""

from __future__ import annotations

import pytest

from pointsman.conditions import AllOf, Matcher, Negated, NumberComparison, Predicate, Subscription
from pointsman.conditions.metadata import Condition
from pointsman.matching.terms.reference import Group
from pointsman.pipeline.predicates import Way, way
from pointsman.pipeline.predicates.way import MOST_LEAVES, MOST_SIGNS

NATIVE = [
    "metadata.size > 5 AND NOT source IN ('a', 'b') OR time < '2026-05-01T12:00:00Z'",
    "subject ILIKE 'orders.%' AND (metadata.a IS NULL) IS NOT TRUE",
    "TRUE",
]


@pytest.mark.parametrize("text", NATIVE)
def test_what_asks_for_texts_and_times_is_native(text: str) -> None:
    """In all of its forms."""
    assert way(None, Predicate(text)).name == "native"


@pytest.mark.parametrize(
    ("condition", "text", "why"),
    [
        (None, "metadata.a = 1 OR body.a.b IS NULL", "body.a.b is read from JSON, which Spark reads by other rules"),
        (
            AllOf((Matcher("a", "b"), Negated(Subscription(Group(matchers=(Matcher("a", "c*", partial=True),)))))),
            "TRUE",
            "the pattern 'c*' is for words, which Spark does not find",
        ),
        (None, f"subject LIKE '{'_' * (MOST_SIGNS + 1)}'", f"a pattern of LIKE has more than {MOST_SIGNS} signs"),
        (Matcher(None, "?" * (MOST_SIGNS + 1)), "TRUE", f"a pattern with wildcards has more than {MOST_SIGNS} signs"),
        (
            None,
            " OR ".join(f"id={number}" for number in range(MOST_LEAVES + 1)),
            f"there are more than {MOST_LEAVES} comparisons in it",
        ),
    ],
    ids=["body", "words", "long LIKE", "long pattern", "many comparisons"],
)
def test_what_spark_would_answer_otherwise_goes_to_python(condition: Condition | None, text: str, why: str) -> None:
    """And it says why."""
    assert way(condition, Predicate(text)) == Way("arrow", why)


def test_conditions_on_whole_values_are_native() -> None:
    """With and without wildcards, and of numbers."""
    matchers = (Matcher("a", "b?c*"), Matcher(None, "x" * 1000))
    assert (
        way(AllOf((*matchers, NumberComparison(None, ">", 5), Subscription(Group(matchers=matchers)))), None).name
        == "native"
    )
    assert way(None, None).name == "native"
