"""Which leaves of a condition a message must fulfil one of: the gates by which its subscription is found.

A condition that holds has at least one of its gates hold, so that only the subscriptions behind a gate that holds need
be looked at. Where there is a choice, as in an ``and``, the gate is taken that lets the fewest through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from pointsman.conditions import AllOf, AnyOf, Condition, ExactlyOneOf, Matcher, Negated, NumberComparison, Subscription
from pointsman.matching.terms.glob import ANY_NUMBER, ANY_ONE
from pointsman.patterns.nodes import Literal
from pointsman.patterns.pattern import Pattern

Leaf: TypeAlias = Matcher | NumberComparison
"""A condition without conditions inside."""
Gates: TypeAlias = tuple[Leaf, ...]
Uses: TypeAlias = Callable[[Leaf], int]
"""How often a leaf is used already."""


def gates(condition: Condition, uses: Uses | None = None) -> Gates | None:
    """Distinct leaves of which at least one holds whenever the condition does; None if there are no such.

    Of several ways, the one with the fewest leaves is taken, and of those the one whose leaves fit the fewest values.
    With ``uses``, leaves that are used often count as more, as what many ask for is said by many messages.

    >>> gates(AllOf((Matcher("title", "*"), Matcher("region", "EU"), Negated(Matcher("kind", "test")))))
    (Matcher(key='region', pattern='EU', partial=False),)
    >>> gates(Negated(Matcher("kind", "test"))) is None
    True
    """
    return _Finder(uses).gates(condition, aim=True)


def leaves(condition: Condition) -> list[Leaf]:
    """The distinct leaves of a condition, in their order."""
    found: dict[Leaf, None] = {}
    _collect(condition, found)
    return list(found)


def leaf_weight(leaf: Leaf, uses: int) -> int:
    """How many a leaf lets through, for comparison: more if it is used often, and if it fits many values."""
    return (1 + uses) << leaf_width(leaf)


def pattern_weight(pattern: Pattern, uses: int) -> int:
    """The same for a subject pattern."""
    return (1 + uses) << pattern_width(pattern)


def pattern_width(pattern: Pattern) -> int:
    """Roughly how many subjects a pattern fits, as ``leaf_width`` says it of leaves.

    >>> pattern_width(Pattern("orders.7")), pattern_width(Pattern("orders.*")), pattern_width(Pattern(">"))
    (0, 4, 10)
    """
    literals = sum(isinstance(node, Literal) for node in pattern.nodes)
    return 0 if literals == len(pattern.nodes) else 4 if literals else 10


class _Finder:
    """Finds gates, for the case that a condition holds (``aim``) and for the case that it does not."""

    def __init__(self, uses: Uses | None) -> None:
        self._uses = uses

    def gates(self, condition: Condition, *, aim: bool) -> Gates | None:
        match condition:
            case Negated(inner):
                return self.gates(inner, aim=not aim)
            case AllOf(parts):
                ways = [self.gates(part, aim=aim) for part in parts]
                return self._best(ways) if aim else _together(ways)
            case AnyOf(parts):
                ways = [self.gates(part, aim=aim) for part in parts]
                return _together(ways) if aim else self._best(ways)
            case ExactlyOneOf(parts) if aim:
                return _together([self.gates(part, aim=True) for part in parts])
            case Subscription(includes) if aim:
                single = [(matcher,) for matcher in includes.matchers]
                return self._best(single) if includes.all else _together(single)
            case Matcher() | NumberComparison() if aim:
                return (condition,)
            case _:
                # It may be that nothing of it holds at all.
                return None

    def _best(self, ways: Iterable[Gates | None]) -> Gates | None:
        possible = [way for way in ways if way is not None]
        return min(possible, key=self._weight) if possible else None

    def _weight(self, way: Gates) -> tuple[int, int]:
        if self._uses is not None:
            return sum(leaf_weight(leaf, self._uses(leaf)) for leaf in way), 0
        return len(way), sum(map(leaf_width, way))


def _together(ways: Iterable[Gates | None]) -> Gates | None:
    found: dict[Leaf, None] = {}
    for way in ways:
        if way is None:
            return None
        found.update(dict.fromkeys(way))
    return tuple(found)


def leaf_width(leaf: Leaf) -> int:
    """Roughly how many values a leaf fits: a lower number for fewer."""
    any_key = 1 if leaf.key is None else 0
    if isinstance(leaf, NumberComparison):
        return (2 if leaf.operator == "=" else 8) + any_key
    if ANY_NUMBER not in leaf.pattern and ANY_ONE not in leaf.pattern:
        return (2 if leaf.partial else 0) + any_key
    literal = len(leaf.pattern) - leaf.pattern.count(ANY_NUMBER) - leaf.pattern.count(ANY_ONE)
    return (4 if literal >= 3 else 6 if literal else 10) + any_key


def _collect(condition: Condition, found: dict[Leaf, None]) -> None:
    match condition:
        case AllOf(parts) | AnyOf(parts) | ExactlyOneOf(parts):
            for part in parts:
                _collect(part, found)
        case Negated(inner):
            _collect(inner, found)
        case Subscription(includes, excludes):
            found.update(dict.fromkeys(includes.matchers))
            found.update(dict.fromkeys(excludes.matchers))
        case Matcher() | NumberComparison():
            found[condition] = None
