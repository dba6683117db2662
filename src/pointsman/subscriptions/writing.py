"""Wildcard subscriptions as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from pointsman.conditions import write_condition
from pointsman.patterns.dialect import find_dialect, foreign_signs
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.reading import DIALECT

FOREIGN = tuple(foreign_signs(find_dialect(DIALECT)))


def needs_dialect(pattern: str, dialect: str) -> bool:
    """Whether a pattern would be refused, or be another one, if its dialect was not written beside it."""
    return dialect != DIALECT or any(sign in pattern for sign in FOREIGN)


def write_subscription(subscription: WildcardSubscription) -> dict[str, Any]:
    """The data that ``read_subscription`` makes an equal one of; what has its default value is left out.

    >>> from pointsman.patterns.pattern import Pattern
    >>> write_subscription(WildcardSubscription("a", "ops", ("pager",), Pattern("plant/#", "mqtt"), enabled=False))
    {'id': 'a', 'owner': 'ops', 'destinations': ['pager'], 'pattern': 'plant/#', 'dialect': 'mqtt', 'enabled': False}
    """
    data: dict[str, Any] = {
        "id": subscription.id,
        "owner": subscription.owner,
        "destinations": list(subscription.destinations),
    }
    if subscription.pattern is not None:
        data["pattern"] = subscription.pattern.text
        if needs_dialect(subscription.pattern.text, subscription.pattern.dialect.name):
            data["dialect"] = subscription.pattern.dialect.name
    if subscription.condition is not None:
        data["condition"] = write_condition(subscription.condition)
    if not subscription.enabled:
        data["enabled"] = False
    if subscription.expires is not None:
        data["expires"] = subscription.expires
    if subscription.description:
        data["description"] = subscription.description
    return data
