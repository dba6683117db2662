"""Narrowing a subscription that is wider than what its owner may read."""

from __future__ import annotations

from collections.abc import Sequence

from pointsman.access.narrowing import Narrowing, nothing_left, something_left
from pointsman.access.pattern_list import PatternList, plainly_apart, widest
from pointsman.access.principal import Principal
from pointsman.errors import AccessError, LimitError
from pointsman.patterns import Pattern

LIMIT = 10_000
"""How many patterns may be made for one subscription, beside those that the rules say themselves."""


def narrow(principal: Principal, pattern: Pattern, *, limit: int = LIMIT) -> Narrowing:
    """What the principal may read of a subscription to the pattern.

    >>> bob = Principal.from_data("bob", {"subscribe": ["orders.*"], "deny": {"subscribe": ["*.secret"]}}, "nats")
    >>> narrow(bob, Pattern("orders.>")).reason
    "the subscription of 'bob' to 'orders.>' is narrowed to 'orders.*', without what '*.secret' matches"

    Exact: a subject is delivered when the pattern matches it and ``Access.check`` allows to subscribe to it. Raises
    ``LimitError`` when it takes more than ``limit`` patterns to say what is left, or too many for the intersection with
    one rule; and ``AccessError`` (``mixed-dialects``) for a pattern of another dialect than the rules.
    """
    return Narrower(principal).narrow(pattern, limit)


class Narrower:
    """The rules of one principal about subscribing, made ready for many subscriptions. Safe between threads."""

    __slots__ = ("_allowing", "_denying", "_principal")

    def __init__(self, principal: Principal) -> None:
        self._principal = principal
        dialect = principal.dialect
        self._allowing = None if dialect is None else PatternList(principal.patterns("subscribe", "allow"), dialect)
        self._denying = None if dialect is None else PatternList(principal.patterns("subscribe", "deny"), dialect)

    def narrow(self, pattern: Pattern, limit: int = LIMIT) -> Narrowing:
        """What the principal may read of a subscription to the pattern; as the function ``narrow``."""
        asked = f"the subscription of {self._principal.name!r} to {pattern.text!r}"
        if self._allowing is None or self._denying is None:
            return nothing_left(pattern, f"{asked} is refused: {self._principal.name!r} has no rules")
        if self._principal.dialect != pattern.dialect:
            problem = f"{pattern.text!r} is of {pattern.dialect}, the rules are of {self._principal.dialect}"
            raise AccessError("mixed-dialects", problem)
        allowed = _allowed(self._allowing, pattern, limit)
        if not allowed:
            return nothing_left(pattern, f"{asked} is refused: no rule allows to read any of it")
        remaining = [each for each in allowed if not self._denying.contains(each)]
        if not remaining:
            return nothing_left(pattern, f"{asked} is refused: all that is allowed of it is denied")
        remaining = widest(remaining, pattern.dialect)
        cutting = _cutting(self._denying.patterns, remaining, pattern)
        return something_left(asked, pattern, remaining, widest(cutting, pattern.dialect))


def _allowed(allowing: PatternList, pattern: Pattern, limit: int) -> list[Pattern]:
    """What the rules allow of the pattern: all of it, or its intersection with each of them."""
    if not pattern.intersects(pattern):
        return []
    if allowing.contains(pattern):
        return [pattern]
    found: list[Pattern] = []
    made = 0
    for each in allowing.patterns:
        if not _meet(each, pattern):
            continue
        if pattern.contains(each):
            found.append(each)
            continue
        common = pattern.intersection(each)
        made += len(common)
        if made > limit:
            problem = f"what is left of {pattern.text!r} takes more than {limit} patterns"
            raise LimitError("intersection-too-large", problem)
        found.extend(sorted(common, key=str))
    return found


def _cutting(denying: Sequence[Pattern], remaining: Sequence[Pattern], pattern: Pattern) -> list[Pattern]:
    """Those that deny a part of what remains. What has no wildcard has no parts: it would not remain."""
    divisible = [each for each in remaining if not each.is_literal]
    return [each for each in denying if _meet(each, pattern) and any(_meet(each, other) for other in divisible)]


def _meet(one: Pattern, other: Pattern) -> bool:
    return not plainly_apart(one, other) and one.intersects(other)
