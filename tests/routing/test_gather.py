"""Scatter-gather."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, RoutingError
from pointsman.routing.gather import (
    Drop,
    Gathered,
    GatherSettings,
    GatherState,
    Outcome,
    Reason,
    answer,
    due,
    expire,
    scatter,
)

SUPPLIERS = ("supplier-1", "supplier-2", "supplier-3", "supplier-4")


def price(value: Any) -> object:
    """The price in an answer, if there is one."""
    return value.get("price") if isinstance(value, dict) else None


BEST_PRICE = GatherSettings(timeout=5, aggregation="min", extract=price)


def gather(settings: GatherSettings, answers: list[tuple[str, object]]) -> tuple[list[Outcome], GatherState]:
    """The outcomes of these answers, all at the time 1, of a request scattered at 0."""
    state = scatter(settings, "123", SUPPLIERS, 0.0)
    outcomes = []
    for target, value in answers:
        outcome, state = answer(settings, state, target, value, 1.0)
        outcomes.append(outcome)
    return outcomes, state


def test_scatter_gather_flow_best_price_95_from_supplier_2_with_one_timeout() -> None:
    """'Expects: 4, Timeout: 5s': $100, $95, a timeout, $110; at the timeout the result is what is there."""
    outcomes, state = gather(
        BEST_PRICE,
        [("supplier-1", {"price": 100}), ("supplier-2", {"price": 95}), ("supplier-4", {"price": 110})],
    )
    assert outcomes == [Outcome()] * 3
    assert state.correlation_id == "123"
    assert due(state) == 5.0
    assert expire(BEST_PRICE, state, 4.999) == (Outcome(), state)
    outcome, state = expire(BEST_PRICE, state, 5.0)
    assert outcome.gathered is not None
    assert (outcome.gathered.result, outcome.gathered.source) == ({"price": 95}, "supplier-2")
    assert (outcome.gathered.missing, outcome.gathered.reason) == (("supplier-3",), Reason.TIMEOUT)
    assert due(state) is None


def test_scatter_gather_routing_completes_when_all_have_answered() -> None:
    """At the last answer, without waiting for the timeout; once."""
    outcomes, state = gather(GatherSettings(), [(each, number) for number, each in enumerate(SUPPLIERS)])
    assert [each.gathered is None for each in outcomes] == [True, True, True, False]
    answers = tuple((each, number) for number, each in enumerate(SUPPLIERS))
    assert outcomes[-1].gathered == Gathered([0, 1, 2, 3], None, answers, (), Reason.ALL)
    assert expire(GatherSettings(), state, 1e9) == (Outcome(), state)


def test_scatter_gather_example_search_results_are_combined() -> None:
    """'Advanced Pattern Overview': three services, one combined response, by a callable."""

    def combine(answers: Any) -> list[str]:
        return sorted({hit for hits in answers.values() for hit in hits})

    settings = GatherSettings(aggregation=combine)
    state = scatter(settings, "search", ["one", "two", "three"], 0.0)
    _, state = answer(settings, state, "three", ["c", "a"], 0.0)
    _, state = answer(settings, state, "one", ["b"], 0.0)
    outcome, _ = answer(settings, state, "two", ["a"], 0.0)
    assert outcome.gathered is not None
    assert outcome.gathered.result == ["a", "b", "c"]


def test_a_quorum_completes_and_what_comes_after_it_is_late() -> None:
    """Those who had not answered are named."""
    settings = GatherSettings(quorum=2)
    outcomes, state = gather(settings, [("supplier-3", "x"), ("supplier-1", "y"), ("supplier-2", "z")])
    assert outcomes[0] == Outcome()
    assert outcomes[1].gathered == Gathered(
        ["x", "y"], None, (("supplier-3", "x"), ("supplier-1", "y")), ("supplier-2", "supplier-4"), Reason.QUORUM
    )
    assert outcomes[2] == Outcome(dropped=Drop.LATE)
    assert (state.late, state.duplicate, state.foreign) == (1, 0, 0)


def test_a_quorum_of_all_is_all() -> None:
    """And says so."""
    outcomes, _ = gather(GatherSettings(quorum=4), [(each, 1) for each in SUPPLIERS])
    assert outcomes[-1].gathered is not None
    assert outcomes[-1].gathered.reason is Reason.ALL


def test_duplicate_and_foreign_answers_are_counted_and_dropped() -> None:
    """The first answer of a target stands."""
    outcomes, state = gather(
        GatherSettings(aggregation="count"),
        [("supplier-1", 1), ("supplier-1", 2), ("stranger", 3), ("supplier-2", 4), ("supplier-1", 5)],
    )
    assert [each.dropped for each in outcomes] == [None, Drop.DUPLICATE, Drop.FOREIGN, None, Drop.DUPLICATE]
    assert (state.late, state.duplicate, state.foreign) == (0, 2, 1)
    assert state.answers == (("supplier-1", 1), ("supplier-2", 4))


def test_an_answer_after_the_deadline_is_late_and_brings_the_result_if_no_timer_did() -> None:
    """So the timeout fires even where nobody calls expire."""
    _, state = gather(BEST_PRICE, [("supplier-1", {"price": 100})])
    outcome, state = answer(BEST_PRICE, state, "supplier-2", {"price": 1}, 5.0)
    assert outcome.dropped is Drop.LATE
    assert outcome.gathered is not None
    assert (outcome.gathered.source, outcome.gathered.reason) == ("supplier-1", Reason.TIMEOUT)
    again, state = answer(BEST_PRICE, state, "supplier-3", {"price": 1}, 5.0)
    assert again == Outcome(dropped=Drop.LATE)
    assert state.late == 2


@pytest.mark.parametrize(
    ("aggregation", "result", "source"),
    [
        ("collect", [7, 3, 9], None),
        ("first", 7, "supplier-2"),
        ("min", 3, "supplier-1"),
        ("max", 9, "supplier-4"),
        ("count", 3, None),
        (lambda answers: sum(answers.values()), 19, None),
    ],
)
def test_each_aggregation_makes_its_result_of_what_is_there(aggregation: Any, result: object, source: object) -> None:
    """Answers count in the order of their arrival."""
    settings = GatherSettings(timeout=2, aggregation=aggregation)
    _, state = gather(settings, [("supplier-2", 7), ("supplier-1", 3), ("supplier-4", 9)])
    outcome, _ = expire(settings, state, 2.0)
    assert outcome.gathered is not None
    assert (outcome.gathered.result, outcome.gathered.source) == (result, source)


@pytest.mark.parametrize(
    ("aggregation", "result"),
    [("collect", []), ("first", None), ("min", None), ("max", None), ("count", 0), (lambda answers: len(answers), 0)],
)
def test_a_timeout_without_any_answer_gives_a_result_all_the_same(aggregation: Any, result: object) -> None:
    """With all targets missing."""
    settings = GatherSettings(aggregation=aggregation)
    outcome, _ = expire(settings, scatter(settings, "c", SUPPLIERS, 0.0), 30.0)
    assert outcome.gathered == Gathered(result, None, (), SUPPLIERS, Reason.TIMEOUT)


def test_an_answer_without_a_number_takes_no_part_in_min_and_max() -> None:
    """Missing, a text, a truth value, or too large to compare; it still counts as an answer."""
    for odd in (None, {}, {"price": "1"}, {"price": True}, {"price": None}, {"price": 10**400}, [1]):
        settings = GatherSettings(quorum=2, aggregation="min", extract=price)
        outcomes, _ = gather(settings, [("supplier-1", odd), ("supplier-2", {"price": 95})])
        assert outcomes[-1].gathered is not None
        assert outcomes[-1].gathered.source == "supplier-2"
        assert len(outcomes[-1].gathered.answers) == 2


def test_of_equal_answers_the_one_that_came_first_is_taken() -> None:
    """By min as by max."""
    for aggregation in ("min", "max"):
        settings = GatherSettings(quorum=3, aggregation=aggregation)
        outcomes, _ = gather(settings, [("supplier-3", 5), ("supplier-1", 5), ("supplier-2", 5.0)])
        assert outcomes[-1].gathered is not None
        assert outcomes[-1].gathered.source == "supplier-3"


def test_the_rules_it_began_with_stay_in_force() -> None:
    """A change of settings concerns what is scattered afterwards."""
    state = scatter(GatherSettings(timeout=5, quorum=1), "c", SUPPLIERS, 0.0)
    outcome, _ = answer(GatherSettings(timeout=50), state, "supplier-1", 1, 4.0)
    assert outcome.gathered is not None
    outcome, _ = expire(GatherSettings(timeout=50), state, 5.0)
    assert outcome.gathered is not None


@pytest.mark.parametrize(("targets", "code"), [([], "no-destinations"), (["a", "b", "a"], "bad-destinations")])
def test_targets_that_could_not_answer_are_refused(targets: list[str], code: str) -> None:
    """None, or one twice."""
    with pytest.raises(RoutingError) as caught:
        scatter(GatherSettings(), "c", targets, 0.0)
    assert caught.value.code == code


def test_a_quorum_of_more_than_the_targets_is_refused() -> None:
    """It could only time out."""
    with pytest.raises(InputError, match="a quorum of 3 is more than the 2 targets"):
        scatter(GatherSettings(quorum=3), "c", ["a", "b"], 0.0)


@pytest.mark.parametrize(
    "settings",
    [{"timeout": 0}, {"timeout": float("nan")}, {"quorum": 0}, {"quorum": True}, {"aggregation": "sum"}],
)
def test_settings_that_could_not_work_are_refused(settings: dict[str, Any]) -> None:
    """By their name."""
    with pytest.raises(InputError, match=next(iter(settings))) as caught:
        GatherSettings(**settings)
    assert caught.value.code == "bad-setting"


def test_settings_have_defaults_and_may_be_parts_of_a_second() -> None:
    """Those of the documentation."""
    assert (GatherSettings().timeout, GatherSettings().quorum, GatherSettings().aggregation) == (30.0, None, "collect")
    assert due(scatter(GatherSettings(timeout=0.25), "c", SUPPLIERS, 1.0)) == 1.25


@pytest.mark.parametrize("value", [b"bytes", {1: "key"}, (1,), float("nan"), [[object()]]])
def test_an_answer_that_json_cannot_carry_is_refused(value: object) -> None:
    """The state could not be stored."""
    state = scatter(GatherSettings(), "c", SUPPLIERS, 0.0)
    with pytest.raises(InputError) as caught:
        answer(GatherSettings(), state, "supplier-1", value, 0.0)
    assert caught.value.code == "bad-answer"


@given(
    st.lists(st.tuples(st.sampled_from([*SUPPLIERS, "stranger", "(expire)"]), st.floats(0, 3)), max_size=15),
    st.none() | st.integers(1, 4),
)
def test_whatever_comes_the_result_is_given_once_and_nothing_is_lost(
    steps: list[tuple[str, float]], quorum: int | None
) -> None:
    """Every answer is kept or counted as dropped, and the state survives being stored after each."""
    settings = GatherSettings(timeout=5, quorum=quorum)
    state = scatter(settings, "c", SUPPLIERS, 0.0)
    now, given_results, sent = 0.0, [], 0
    for target, pause in steps:
        now += pause
        if target == "(expire)":
            outcome, state = expire(settings, state, now)
        else:
            outcome, state = answer(settings, state, target, now, now)
            sent += 1
        state = GatherState.from_data(state.as_data())
        if outcome.gathered is not None:
            given_results.append(outcome.gathered)
        assert len(state.answers) + state.late + state.duplicate + state.foreign == sent
        assert state.complete == (len(given_results) == 1)
        assert state.complete or (len(state.answers) < (quorum or 4) and due(state) == 5.0)
    last, state = expire(settings, state, 100.0)
    results = [*given_results, *([last.gathered] if last.gathered else [])]
    assert len(results) == 1
    assert results[0].answers == state.answers
    assert {target for target, _ in state.answers} | set(results[0].missing) == set(SUPPLIERS)
