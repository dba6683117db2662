"""A wildcard subscription: who gets which messages where, by their subjects and by their metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pointsman.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExactlyOneOf,
    Matcher,
    Negated,
    NumberComparison,
    Subscription,
)
from pointsman.errors import InputError, SubjectError
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.gates import gates, leaves

LONGEST_NAME = 255
"""Characters of an id, an owner or a destination."""
MOST_DESTINATIONS = 100
LONGEST_DESCRIPTION = 10_000


@dataclass(frozen=True, slots=True)
class WildcardSubscription:
    """Messages whose subject matches the pattern, if there is one, and whose metadata fulfil the condition, if any.

    Immutable. Raises ``InputError`` (``bad-subscription``) that names the field, which is also its ``text``. At least a
    pattern or a condition is needed, and without a pattern the condition must ask for something: ``not`` alone would
    be fulfilled by messages that have nothing to do with it. How large a condition may be is checked where
    subscriptions are read and stored (``Limits``).

    >>> alert = WildcardSubscription("alerts", "ops", ("pager",), Pattern("plant.>"), Matcher("severity", "high"))
    >>> alert.matches("plant.1.pressure", {"severity": "high"}), alert.matches("plant.1.pressure", {})
    (True, False)
    """

    id: str
    owner: str
    destinations: tuple[str, ...]
    """Names of destinations of a routing table; each gets a message once."""
    pattern: Pattern | None = None
    condition: Condition | None = None
    enabled: bool = True
    expires: float | None = None
    """Seconds since 1970; from then on nothing matches."""
    description: str = ""

    def __post_init__(self) -> None:
        check_name(self.id, "id")
        check_name(self.owner, "owner")
        object.__setattr__(self, "destinations", checked_destinations(self.destinations))
        _check_flag(self.enabled)
        object.__setattr__(self, "expires", checked_time(self.expires))
        _check_text(self.description, "description")
        if len(self.description) > LONGEST_DESCRIPTION:
            raise bad("description", f"it has more than {LONGEST_DESCRIPTION:,} characters; shorten it")
        if self.pattern is not None and not isinstance(self.pattern, Pattern):
            raise bad("pattern", f"a Pattern is needed, not {type(self.pattern).__name__}")
        _check_condition(self.condition, has_pattern=self.pattern is not None)

    def is_live(self, now: float) -> bool:
        """Whether it is enabled and not expired at this time."""
        return self.enabled and (self.expires is None or now < self.expires)

    def matches(self, subject: str, metadata: Mapping[str, str]) -> bool:
        """Whether such a message fits, slowly and plainly; ``enabled`` and ``expires`` are not asked.

        A subject that the dialect of the pattern does not have fits no pattern. Raises nothing.
        """
        if self.condition is not None and not self.condition.holds(metadata):
            return False
        try:
            return self.pattern is None or self.pattern.matches(subject)
        except SubjectError:
            return False


def bad(field: str, problem: str) -> InputError:
    """The error for a field of a subscription."""
    return InputError("bad-subscription", f"{field}: {problem}", text=field)


def _check_text(value: object, field: str) -> None:
    if not isinstance(value, str):
        raise bad(field, f"a text is needed, not {type(value).__name__}")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        raise bad(field, "the text holds a lone surrogate, which UTF-8 cannot write") from None


def check_name(value: object, field: str) -> None:
    """Raises ``InputError`` for what is no id, owner or name of a destination."""
    _check_text(value, field)
    name = str(value)
    if not name:
        raise bad(field, "it is empty; give it at least one character")
    if len(name) > LONGEST_NAME:
        raise bad(field, f"it has {len(name):,} characters; {LONGEST_NAME} at most are allowed")
    if "\0" in name:
        raise bad(field, "it holds a NUL; remove it")


def checked_destinations(value: object) -> tuple[str, ...]:
    """The names of destinations. Raises ``InputError``."""
    if not isinstance(value, list | tuple):
        raise bad("destinations", f"a list of names is needed, not {type(value).__name__}")
    if not 0 < len(value) <= MOST_DESTINATIONS:
        raise bad("destinations", f"it has {len(value):,} names; from 1 to {MOST_DESTINATIONS} are needed")
    for place, name in enumerate(value):
        check_name(name, f"destinations[{place}]")
    if len(value) > 1 and len(set(value)) < len(value):
        raise bad("destinations", "a name stands there twice; each gets a message once")
    return tuple(value)


def _check_flag(value: object) -> None:
    if not isinstance(value, bool):
        raise bad("enabled", f"true or false is needed, not {type(value).__name__}")


def checked_time(value: object) -> float | None:
    """The time of expiry. Raises ``InputError``."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad("expires", f"seconds since 1970 or null are needed, not {type(value).__name__}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not 0 <= seconds < 1e12:
        raise bad("expires", "seconds since 1970 are from 0 to less than 1e12")
    return seconds


def _check_condition(condition: object, *, has_pattern: bool) -> None:
    if condition is None:
        if not has_pattern:
            raise bad("condition", "there is neither a pattern nor a condition; a subscription must include something")
        return
    if not isinstance(condition, Matcher | NumberComparison | Subscription | AllOf | AnyOf | ExactlyOneOf | Negated):
        raise bad("condition", f"a condition is needed, not {type(condition).__name__}")
    try:
        needs_gates = not has_pattern and gates(condition) is None
        found = leaves(condition)
    except RecursionError:
        raise bad("condition", "conditions are nested too deep") from None
    if needs_gates:
        problem = (
            "it can hold for messages that fulfil no part of it, as 'not' does; a subscription must include something: "
            "add a pattern, or a matcher that must hold with 'and'"
        )
        raise bad("condition", problem)
    for leaf in found:
        for text in (leaf.key, None if isinstance(leaf, NumberComparison) else leaf.pattern):
            if text is not None:
                _check_text(text, "condition")
