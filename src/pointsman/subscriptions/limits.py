"""How large a subscription may be, and how much is kept of those that are gone."""

from __future__ import annotations

from typing import NamedTuple

from pointsman.conditions import AllOf, AnyOf, Condition, ExactlyOneOf, Matcher, Negated, NumberComparison, Subscription
from pointsman.conditions.serialize import MAX_WILD_BYTES
from pointsman.errors import InputError
from pointsman.matching.terms.glob import ANY_NUMBER, ANY_ONE


class Limits(NamedTuple):
    """What a condition may be made of at most (``check`` refuses what is more), and how many deletions are kept."""

    leaves: int = 1_000
    """Matchers and number comparisons, repeated ones too."""
    depth: int = 32
    """Conditions inside each other; includes and excludes are one."""
    characters: int = 10_000
    """Of the key or the pattern of a matcher."""
    deletions: int = 100_000
    """Of subscriptions, matchers and patterns, that are kept for those who follow the changes: so many, or a hundredth
    more, and at least one.
    """

    def check(self, condition: Condition) -> None:
        """Raises ``InputError`` (``bad-subscription``) for a condition that is larger.

        >>> Limits(leaves=1).check(AnyOf((Matcher("a", "1"), Matcher("a", "2"))))
        Traceback (most recent call last):
            ...
        pointsman.errors.InputError: [bad-subscription] condition: it has more than 1 matchers and comparisons
        """
        counted = self._count(condition, 1)
        if counted > self.leaves:
            raise _too_much(f"it has more than {self.leaves:,} matchers and comparisons")

    def _count(self, condition: Condition, depth: int) -> int:
        if depth > self.depth:
            raise _too_much(f"conditions are nested more than {self.depth} deep")
        match condition:
            case AllOf(parts) | AnyOf(parts) | ExactlyOneOf(parts):
                return sum(self._count(part, depth + 1) for part in parts)
            case Negated(inner):
                return self._count(inner, depth + 1)
            case Subscription(includes, excludes):
                for matcher in (*includes.matchers, *excludes.matchers):
                    self._check_leaf(matcher)
                return len(includes.matchers) + len(excludes.matchers)
            case _:
                self._check_leaf(condition)
                return 1

    def _check_leaf(self, leaf: Matcher | NumberComparison) -> None:
        if leaf.key is not None and len(leaf.key) > self.characters:
            raise _too_much(f"the key of a matcher has more than {self.characters:,} characters")
        if isinstance(leaf, NumberComparison):
            return
        if len(leaf.pattern) > self.characters:
            raise _too_much(f"the pattern of a matcher has more than {self.characters:,} characters")
        is_wild = ANY_NUMBER in leaf.pattern or ANY_ONE in leaf.pattern
        if is_wild and len(leaf.pattern.encode()) > MAX_WILD_BYTES:
            raise _too_much(f"a pattern with wildcards has more than {MAX_WILD_BYTES:,} bytes")


LIMITS = Limits()


def _too_much(problem: str) -> InputError:
    return InputError("bad-subscription", f"condition: {problem}", text="condition")
