"""Wildcard subscriptions from plain data, as JSON holds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pointsman.conditions import Condition, read_condition
from pointsman.errors import InputError, PatternError
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.limits import LIMITS, Limits
from pointsman.subscriptions.model import WildcardSubscription, bad

FIELDS = ("id", "owner", "destinations", "pattern", "dialect", "condition", "enabled", "expires", "description")
"""The fields in the order in which they are written."""
NEEDED = ("id", "owner", "destinations")
DIALECT = "nats"
"""That of a pattern without one, in which a wildcard of another dialect is then an error."""


def read_subscription(data: object, limits: Limits = LIMITS) -> WildcardSubscription:
    """The subscription that the data describes; a field that is left out, or null, has its default.

    Raises ``InputError`` (``bad-subscription``) that names the field.

    >>> read_subscription({"id": "a", "owner": "ops", "destinations": ["pager"], "pattern": "plant.>"}).pattern
    Pattern('plant.>', dialect='nats')
    """
    if not isinstance(data, Mapping):
        raise bad("the subscription", f"an object with fields is needed, not {type(data).__name__}")
    for name in data:
        if name not in FIELDS:
            raise bad(str(name), f"there is no such field beside {', '.join(FIELDS)}")
    for name in NEEDED:
        if data.get(name) is None:
            raise bad(name, "it is missing")
    given = {name: data[name] for name in FIELDS if data.get(name) is not None}
    pattern, condition = _read_pattern(given), _read_condition(given, limits)
    return WildcardSubscription(**{**given, "pattern": pattern, "condition": condition})


def _read_pattern(given: dict[str, Any]) -> Pattern | None:
    dialect, text = given.pop("dialect", None), given.pop("pattern", None)
    if not isinstance(dialect, str | None):
        raise bad("dialect", f"a text is needed, not {type(dialect).__name__}")
    try:
        return None if text is None else Pattern(text, dialect)
    except PatternError as error:
        field = "dialect" if error.code == "unknown-dialect" else "pattern"
        raise bad(field, error.problem) from None


def _read_condition(given: dict[str, Any], limits: Limits) -> Condition | None:
    data = given.pop("condition", None)
    if data is None:
        return None
    try:
        condition = read_condition(data)
    except InputError as error:
        raise bad("condition", error.problem) from None
    limits.check(condition)
    return condition
