"""The cases about access, taken from real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pointsman.conformance import judge, load_cases
from pointsman.errors import InputError

CASES = Path(__file__).parent.parent / "conformance"

CHECK = {
    "dialect": "zato",
    "permissions": [["Orders.*", "publisher"], ["orders.new", "subscriber"], ["a", "publisher-subscriber"]],
    "operation": "publish",
    "subject": "orders.new",
    "allowed": True,
    "matched_pattern": "orders.*",
}
SUBSCRIPTION = {
    "dialect": "nats",
    "allow": [">"],
    "deny": ["*.secret"],
    "subscribe": "foo.*",
    "subscribe_allowed": True,
    "delivered": ["foo.public"],
    "not_delivered": ["foo.secret", "bar.public"],
}


@pytest.mark.parametrize(("name", "count"), [("access", 53), ("access_deny", 5)])
def test_every_case_of_the_real_servers_passes(name: str, count: int) -> None:
    """Each file is judged whole, and the failures are shown."""
    outcomes = [judge(case) for case in load_cases(CASES / f"{name}.json")]
    assert [outcome for outcome in outcomes if not outcome.passed] == []
    assert len(outcomes) == count


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"operation": "subscribe", "matched_pattern": "orders.new"},
        {"operation": "subscribe", "subject": "a", "matched_pattern": "a"},
        {"subject": "a", "matched_pattern": "a"},
        {"subject": "orders.new#", "allowed": False, "matched_pattern": None},
        {"permissions": [["zato.**", "publisher"]], "allowed": False, "matched_pattern": None},
        {"dialect": "nats", "permissions": [["orders.>", "publisher"]], "matched_pattern": "orders.>"},
    ],
)
def test_a_right_expectation_of_a_check_passes(change: dict[str, object]) -> None:
    """By role, operation and dialect; what is rejected is refused."""
    assert judge({**CHECK, **change}).passed


def test_the_pattern_that_decided_need_not_be_told() -> None:
    """Then only the answer counts."""
    case = {key: value for key, value in CHECK.items() if key != "matched_pattern"}
    assert judge(case).passed
    assert not judge({**case, "allowed": False}).passed


@pytest.mark.parametrize(
    "change",
    [
        {"allowed": False},
        {"matched_pattern": None},
        {"matched_pattern": "Orders.*"},
        {"operation": "subscribe"},
        {"subject": "orders.new#"},
        {"permissions": []},
    ],
)
def test_a_wrong_expectation_of_a_check_fails(change: dict[str, object]) -> None:
    """The judge can say no."""
    assert not judge({**CHECK, **change}).passed


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"allow": ["foo.public", "x"]},
        {"allow": ["x"], "subscribe_allowed": False, "delivered": [], "not_delivered": ["foo.public", "x"]},
        {"deny": [">"], "subscribe_allowed": False, "delivered": []},
        {"subscribe": "foo..", "subscribe_allowed": False, "delivered": []},
    ],
)
def test_a_right_expectation_of_a_subscription_passes(change: dict[str, object]) -> None:
    """It is allowed when something is left of it: one that is too wide is narrowed and not refused."""
    assert judge({**SUBSCRIPTION, **change}).passed


@pytest.mark.parametrize(
    "change",
    [
        {"subscribe_allowed": False},
        {"delivered": ["foo.secret"], "not_delivered": []},
        {"delivered": [], "not_delivered": ["foo.public"]},
        {"allow": []},
        {"deny": ["foo.*"]},
    ],
)
def test_a_wrong_expectation_of_a_subscription_fails(change: dict[str, object]) -> None:
    """The judge can say no."""
    assert not judge({**SUBSCRIPTION, **change}).passed


@pytest.mark.parametrize(
    "case",
    [
        {**CHECK, "dialect": "kafka"},
        {**CHECK, "dialect": "kafka", "permissions": [], "allowed": False, "matched_pattern": None},
        {**CHECK, "operation": "delete"},
        {**CHECK, "subject": 1},
        {**CHECK, "permissions": "all"},
        {**CHECK, "permissions": [["a", "owner"]]},
        {**CHECK, "permissions": [["a"]]},
        {**CHECK, "permissions": [[1, "publisher"]]},
        {"permissions": []},
        {**SUBSCRIPTION, "dialect": "kafka"},
        {**SUBSCRIPTION, "allow": ">"},
        {**SUBSCRIPTION, "deny": [1]},
        {**SUBSCRIPTION, "subscribe": 1},
        {**SUBSCRIPTION, "delivered": "foo.public"},
        {"subscribe_allowed": True},
    ],
)
def test_what_is_no_case_about_access_is_refused(case: dict[str, object]) -> None:
    """A mistake in the file must not count as a passed case."""
    with pytest.raises(InputError) as caught:
        judge(case)
    assert caught.value.code == "bad-case"
