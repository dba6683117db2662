"""What is left of a subscription that is wider than what its owner may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pointsman.access.pattern_list import PatternList, plainly_apart, sample, widest
from pointsman.access.principal import Principal
from pointsman.errors import AccessError, LimitError, SubjectError
from pointsman.patterns import Pattern

LIMIT = 10_000
"""How many patterns may be made for one subscription, beside those that the rules say themselves."""

SHOWN = 5
"""How many patterns a sentence names."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What its owner may read of a subscription: what ``patterns`` match and ``denied`` do not."""

    pattern: Pattern
    """What was asked for."""
    patterns: tuple[Pattern, ...]
    """What remains of it, as far as patterns can say it; none of them within another."""
    denied: tuple[Pattern, ...]
    """What is denied of that. No pattern can express a difference, so each delivery has to be checked against them."""
    reason: str
    """A sentence for the one who subscribed."""
    _deciding: PatternList = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_deciding", PatternList((*self.denied, *self.patterns), self.pattern.dialect))

    @property
    def whole(self) -> bool:
        """Whether one rule allows all that was asked for and none denies a part of it: nothing was narrowed.

        False when it takes several rules to allow all of it.
        """
        return self.patterns == (self.pattern,) and not self.denied

    @property
    def nothing(self) -> bool:
        """Whether nothing is left. Not found out when it takes several rules to deny all of it."""
        return not self.patterns

    def delivers(self, subject: str) -> bool:
        """Whether a message of this subject reaches the subscription; False for what is no subject."""
        try:
            first = self._deciding.first(subject)
        except SubjectError:
            return False
        return first is not None and first >= len(self.denied)


def narrow(principal: Principal, pattern: Pattern, *, limit: int = LIMIT) -> Narrowing:
    """What the principal may read of a subscription to the pattern.

    >>> bob = Principal.from_data("bob", {"subscribe": ["orders.*"], "deny": {"subscribe": ["*.secret"]}}, "nats")
    >>> narrow(bob, Pattern("orders.>")).reason
    "the subscription of 'bob' to 'orders.>' is narrowed to 'orders.*', without what '*.secret' matches"

    Exact: a subject is delivered when the pattern matches it and ``Access.check`` allows to subscribe to it. Raises
    ``LimitError`` when it takes more than ``limit`` patterns to say what is left, or too many for the intersection with
    one rule; and ``AccessError`` (``mixed-dialects``) for a pattern of another dialect than the rules.
    """
    if principal.dialect not in (None, pattern.dialect):
        raise AccessError(
            "mixed-dialects",
            f"{pattern.text!r} is {pattern.dialect.with_article} pattern, the rules are of {principal.dialect}",
        )
    asked = f"the subscription of {principal.name!r} to {pattern.text!r}"
    remaining = _allowed(principal.patterns("subscribe", "allow"), pattern, limit)
    if not remaining:
        return nothing_for(pattern, f"{asked} is refused: no rule allows to read any of it")
    denying = principal.patterns("subscribe", "deny")
    remaining = _without_denied(remaining, denying, pattern)
    if not remaining:
        return nothing_for(pattern, f"{asked} is refused: all that is allowed of it is denied")
    remaining = widest(remaining, pattern.dialect)
    denied = widest(_cutting(denying, remaining, pattern), pattern.dialect)
    return Narrowing(pattern, tuple(remaining), tuple(denied), _sentence(asked, pattern, remaining, denied))


def nothing_for(pattern: Pattern, reason: str) -> Narrowing:
    """A narrowing that leaves nothing."""
    return Narrowing(pattern, (), (), reason)


def _allowed(allowing: Sequence[Pattern], pattern: Pattern, limit: int) -> list[Pattern]:
    """What the rules allow of the pattern: all of it, or its intersection with each of them."""
    if not pattern.intersects(pattern):
        return []
    if any(True for _ in PatternList(allowing, pattern.dialect).containing(pattern)):
        return [pattern]
    found: list[Pattern] = []
    made = 0
    for each in allowing:
        if not _meet(each, pattern):
            continue
        if pattern.contains(each):
            found.append(each)
            continue
        common = pattern.intersection(each)
        made += len(common)
        if made > limit:
            raise LimitError(
                "intersection-too-large", f"what is left of {pattern.text!r} takes more than {limit} patterns"
            )
        found.extend(sorted(common, key=str))
    return found


def _without_denied(remaining: Sequence[Pattern], denying: Sequence[Pattern], pattern: Pattern) -> list[Pattern]:
    denied = PatternList(denying, pattern.dialect)
    return [each for each in remaining if not any(True for _ in denied.containing(each))]


def _cutting(denying: Sequence[Pattern], remaining: Sequence[Pattern], pattern: Pattern) -> list[Pattern]:
    """Those that deny a part of what remains. What has no wildcard is looked up, and only the rest is compared."""
    candidates = [each for each in denying if _meet(each, pattern)]
    exact = {each.text for each in remaining if each.is_literal and sample(each) is not None}
    listed = PatternList(candidates, pattern.dialect)
    cutting = {position for text in exact for position in listed.matching(text)}
    others = [each for each in remaining if each.text not in exact]
    return [
        each
        for position, each in enumerate(candidates)
        if position in cutting or any(_meet(each, other) for other in others)
    ]


def _meet(one: Pattern, other: Pattern) -> bool:
    return not plainly_apart(one, other) and one.intersects(other)


def _sentence(asked: str, pattern: Pattern, remaining: Sequence[Pattern], denied: Sequence[Pattern]) -> str:
    if list(remaining) == [pattern]:
        said = f"{asked} is granted"
        return f"{said}, without what {_names(denied)} matches" if denied else said
    said = f"{asked} is narrowed to {_names(remaining)}"
    return f"{said}, without what {_names(denied)} matches" if denied else said


def _names(patterns: Sequence[Pattern]) -> str:
    names = ", ".join(repr(pattern.text) for pattern in patterns[:SHOWN])
    more = len(patterns) - SHOWN
    return f"{names} and {more} more" if more > 0 else names
