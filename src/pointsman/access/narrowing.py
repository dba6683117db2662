"""The outcome of narrowing: what is left of a subscription, and what its owner is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pointsman.access.pattern_list import PatternList
from pointsman.errors import SubjectError
from pointsman.patterns import Pattern

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
    _deciding: PatternList | None = field(default=None, init=False, repr=False, compare=False)

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
        deciding = self._deciding
        if deciding is None:
            deciding = PatternList((*self.denied, *self.patterns), self.pattern.dialect)
            object.__setattr__(self, "_deciding", deciding)
        try:
            first = deciding.first(subject)
        except SubjectError:
            return False
        return first is not None and first >= len(self.denied)


def nothing_left(pattern: Pattern, reason: str) -> Narrowing:
    """A narrowing that leaves nothing."""
    return Narrowing(pattern, (), (), reason)


def something_left(asked: str, pattern: Pattern, patterns: Sequence[Pattern], denied: Sequence[Pattern]) -> Narrowing:
    """A narrowing to the patterns without what is denied; ``asked`` names the subscription."""
    granted = f"{asked} is granted" if list(patterns) == [pattern] else f"{asked} is narrowed to {_names(patterns)}"
    reason = f"{granted}, without what {_names(denied)} matches" if denied else granted
    return Narrowing(pattern, tuple(patterns), tuple(denied), reason)


def _names(patterns: Sequence[Pattern]) -> str:
    names = ", ".join(repr(pattern.text) for pattern in patterns[:SHOWN])
    more = len(patterns) - SHOWN
    return f"{names} and {more} more" if more > 0 else names
