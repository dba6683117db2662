"""What a wildcard subscription is, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from pointsman.conditions import AllOf, AnyOf, Condition, Group, Matcher, Negated, NumberComparison, Subscription
from pointsman.errors import InputError
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription

FIELDS: dict[str, Any] = {
    "id": "one",
    "owner": "ada",
    "destinations": ("inbox",),
    "pattern": Pattern("orders.>"),
    "condition": Matcher("region", "EU"),
}


def made(**changes: Any) -> WildcardSubscription:
    """A subscription that is right but for the changes."""
    return WildcardSubscription(**{**FIELDS, **changes})


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"id": ""}, "id", "empty"),
        ({"id": "x" * 256}, "id", "255 at most"),
        ({"id": "a\0b"}, "id", "NUL"),
        ({"id": "\ud800"}, "id", "surrogate"),
        ({"id": 5}, "id", "not int"),
        ({"owner": ""}, "owner", "empty"),
        ({"destinations": ()}, "destinations", "from 1 to 100"),
        ({"destinations": "inbox"}, "destinations", "a list of names"),
        ({"destinations": tuple(map(str, range(101)))}, "destinations", "101 names"),
        ({"destinations": ("a", "a")}, "destinations", "twice"),
        ({"destinations": ("a", "")}, "destinations[1]", "empty"),
        ({"pattern": "orders.>"}, "pattern", "not str"),
        ({"condition": "EU"}, "condition", "not str"),
        ({"enabled": 1}, "enabled", "not int"),
        ({"expires": float("nan")}, "expires", "from 0"),
        ({"expires": -1}, "expires", "from 0"),
        ({"expires": 10**400}, "expires", "from 0"),
        ({"expires": True}, "expires", "not bool"),
        ({"description": "x" * 10_001}, "description", "shorten"),
        ({"description": None}, "description", "not NoneType"),
        ({"pattern": None, "condition": None}, "condition", "must include something"),
        ({"pattern": None, "condition": Negated(Matcher("a", "b"))}, "condition", "must include something"),
        ({"condition": Matcher("a", "\ud800")}, "condition", "surrogate"),
        ({"condition": Matcher(5, "b")}, "condition", "not int"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said_with_its_field(changes: dict[str, Any], field: str, problem: str) -> None:
    """The field is in the text of the error, for programs."""
    with pytest.raises(InputError) as caught:
        made(**changes)
    assert caught.value.code == "bad-subscription"
    assert caught.value.text == field
    assert caught.value.problem.startswith(f"{field}: ")
    assert problem in caught.value.problem


def test_a_subscription_needs_a_pattern_or_a_condition_only() -> None:
    """Either alone is enough, and the pattern lets the condition be any."""
    assert made(condition=None).matches("orders.1", {})
    assert made(pattern=None).matches("anything", {"region": "EU"})
    assert made(condition=Negated(Matcher("region", "EU"))).matches("orders.1", {})


def test_both_must_fit() -> None:
    """The subject by the pattern, the metadata by the condition."""
    assert made().matches("orders.1", {"region": "EU"})
    assert not made().matches("orders.1", {"region": "US"})
    assert not made().matches("plant.1", {"region": "EU"})


def test_a_subject_of_another_dialect_fits_no_pattern() -> None:
    """What the dialect of the pattern does not have is no error."""
    assert not made().matches("orders..1", {"region": "EU"})


def test_it_is_live_while_it_is_enabled_and_not_expired() -> None:
    """The time of expiry is the first at which it is not."""
    assert made().is_live(5)
    assert not made(enabled=False).is_live(5)
    assert made(expires=6).is_live(5)
    assert not made(expires=5).is_live(5)


def test_destinations_given_as_a_list_are_kept_as_a_tuple() -> None:
    """So that the subscription can be hashed and compared."""
    assert made(destinations=["a", "b"]) == made(destinations=("a", "b"))
    assert hash(made(destinations=["a", "b"])) == hash(made(destinations=("a", "b")))


def nested(depth: int) -> Condition:
    """A matcher inside so many conditions, itself counted."""
    condition: Condition = Matcher("a", "b")
    for _ in range(depth - 1):
        condition = AllOf((condition,))
    return condition


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (nested(5), "more than 4 deep"),
        (AnyOf((Matcher("a", "1"), AllOf((Matcher("a", "2"), Matcher("a", "3"))), Matcher("a", "4"))), "more than 3"),
        (Subscription(Group(matchers=(Matcher("a", "1"),) * 2), Group(matchers=(Matcher("a", "2"),) * 2)), "than 3"),
        (Matcher("k" * 11, "1"), "key of a matcher"),
        (Matcher("a", "v" * 11), "pattern of a matcher"),
        (NumberComparison("k" * 11, "=", 1), "key of a matcher"),
        (Subscription(Group(matchers=(Matcher("a", "v" * 11),))), "pattern of a matcher"),
    ],
)
def test_a_condition_that_is_too_large_is_refused(condition: Condition, problem: str) -> None:
    """The limits can be set."""
    limits = Limits(leaves=3, depth=4, characters=10)
    limits.check(nested(4))
    limits.check(Matcher("k" * 10, "v" * 10))
    with pytest.raises(InputError, match="bad-subscription") as caught:
        limits.check(condition)
    assert problem in caught.value.problem


def test_a_pattern_with_wildcards_has_the_limit_of_the_index() -> None:
    """In bytes, as the index counts."""
    Limits().check(Matcher("a", "ä" * 2_000))
    Limits().check(Matcher("a", "ä" * 511 + "*"))
    with pytest.raises(InputError, match="1,024 bytes"):
        Limits().check(Matcher("a", "ä" * 512 + "*"))


def test_conditions_nested_beyond_all_measure_are_refused_and_not_followed() -> None:
    """No error of Python comes out."""
    with pytest.raises(InputError, match="too deep"):
        made(condition=nested(100_000))
