"""Expectations: messages in the table and the deliveries they must have."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.table.loading.schema import Sample
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.expectations import Outcome, message_of, run_expectations

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"
TABLE = """
routes:
  - {name: all, pattern: "orders.>", destinations: [archive, stock]}
  - {name: eu, pattern: "orders.eu.*", destinations: [archive]}
  - {name: mail, pattern: "mail.*", strategy: balanced, balance: round-robin, destinations: [one, two]}
translations: [{from: "old.*", to: "orders.$1"}]
access: {shop: {publish: ["orders.>"]}}
expectations:
"""


def outcomes(*expectations: str) -> list[Outcome]:
    """The outcomes of expectations, each written as YAML in one line."""
    return list(run_expectations(RoutingTable.parse(TABLE + "".join(f"  - {{{each}}}\n" for each in expectations))))


def problems(expectation: str) -> tuple[str, ...]:
    """What is not as one expectation says."""
    return outcomes(expectation)[0].problems


def test_the_expectations_of_the_example_hold() -> None:
    """In each of its environments; the one that sends large orders elsewhere says so in its overlay."""
    for environment in (None, "development", "staging", "production"):
        assert all(outcome.passed for outcome in run_expectations(RoutingTable.load(SHOP, environment)))


def test_expectations_may_be_of_some_environments_and_overlays_may_have_their_own() -> None:
    """One of the same name is changed in its fields; one without a name is added."""
    text = """
routes: [{name: r, pattern: a, destinations: [one]}]
expectations:
  - {name: everywhere, message: {subject: a}, deliveries: [one]}
  - {message: {subject: b}, environments: [test], deliveries: []}
environments:
  test:
    routes: [{name: r, destinations: [two]}]
    expectations: [{name: everywhere, deliveries: [two]}, {message: {subject: c}}]
"""
    for environment, subjects in ((None, ["a"]), ("test", ["a", "b", "c"])):
        found = list(run_expectations(RoutingTable.parse(text, environment)))
        assert all(outcome.passed for outcome in found)
        assert [outcome.expectation.message.subject for outcome in found] == subjects


def test_destinations_are_expected_as_often_as_they_come() -> None:
    """In any order; what is missing and what is too much is named."""
    sent = "message: {subject: orders.eu.books}"
    assert problems(f"{sent}, deliveries: [stock, archive, archive]") == ()
    assert problems(f"{sent}, deliveries: [stock, archive]") == ("not expected: eu -> archive, orders.eu.books",)
    assert problems(f"{sent}, deliveries: [stock, archive, archive, archive]") == ("missing: archive",)


def test_a_delivery_may_be_expected_by_its_route_and_its_subject() -> None:
    """A part that is left out may be anything."""
    sent = "message: {subject: old.books}"
    assert problems(f"{sent}, deliveries: [stock, {{route: all, destination: archive, subject: orders.books}}]") == ()
    assert problems(f"{sent}, deliveries: [stock, {{route: eu, destination: archive}}]") == (
        "missing: eu -> archive",
        "not expected: all -> archive, orders.books",
    )
    assert problems(f"{sent}, deliveries: [stock, {{destination: archive, subject: old.books}}]") == (
        "missing: archive, old.books",
        "not expected: all -> archive, orders.books",
    )


@pytest.mark.parametrize("expected", list(permutations(["archive", "{route: all, destination: archive}", "stock"])))
def test_a_vague_expectation_leaves_the_delivery_that_an_exact_one_needs(expected: tuple[str, ...]) -> None:
    """In whatever order they are written."""
    assert problems(f"message: {{subject: orders.eu.books}}, deliveries: [{', '.join(expected)}]") == ()


def test_a_refusal_must_be_expected() -> None:
    """And one that is expected must come, from access and not from a bad subject."""
    other = "message: {subject: mail.a}, principal: shop"
    assert problems(f"{other}, refused: true") == ()
    (problem,) = problems(other)
    assert problem.startswith("it is refused: 'shop' may not publish to 'mail.a'")
    allowed = "message: {subject: orders.x}, principal: shop, deliveries: [archive, stock]"
    assert problems(f"{allowed}, refused: true") == ("access must refuse it, and does not",)
    assert problems("message: {subject: 'a..b'}, refused: true")[0] == "access must refuse it, and does not"


def test_balances_are_carried_on_from_one_expectation_to_the_next() -> None:
    """So that the turns of a round robin can be expected."""
    turns = [f"message: {{subject: mail.a}}, deliveries: [{name}]" for name in ("one", "two", "one")]
    assert [outcome.passed for outcome in outcomes(*turns)] == [True, True, True]
    assert [outcome.passed for outcome in outcomes(turns[0], turns[0])] == [True, False]


def test_an_outcome_says_what_happened_and_why() -> None:
    """The trace of the decision is there."""
    (outcome,) = outcomes("message: {subject: orders.eu.books}")
    assert outcome.name == "expectation 1 (orders.eu.books)"
    assert outcome.decision is not None
    assert [step.stage for step in outcome.decision.trace][:2] == ["receive", "authorize"]
    assert outcome.as_dict()["passed"] is False


@pytest.mark.parametrize(
    ("body", "written", "content_type"),
    [
        (None, b"", None),
        ("text", b"text", None),
        ({"amount": 5}, b'{"amount":5}', "application/json"),
        ([1, None], b"[1,null]", "application/json"),
        (True, b"true", "application/json"),
    ],
)
def test_a_body_that_is_no_text_becomes_json(body: object, written: bytes, content_type: str | None) -> None:
    """A text stays as it is."""
    message = message_of(Sample(subject="a", body=body))
    assert (message.body, message.content_type, message.time) == (written, content_type, None)


def test_a_body_that_json_cannot_hold_is_a_problem_of_its_expectation() -> None:
    """Others are run all the same."""
    bad, good = outcomes("message: {subject: none, body: 1e999}", "message: {subject: none}")
    assert bad.decision is None
    assert "JSON" in bad.problems[0]
    assert good.passed


@given(st.lists(st.sampled_from(["archive", "stock", "one"]), max_size=4))
def test_only_the_multiset_of_the_deliveries_passes(expected: list[str]) -> None:
    """Compared with counting."""
    (outcome,) = outcomes(f"message: {{subject: orders.eu.books}}, deliveries: [{', '.join(expected)}]")
    assert outcome.passed == (Counter(expected) == Counter({"archive": 2, "stock": 1}))
