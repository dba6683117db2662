"""Whether a condition holds, when it is known which of its leaves do."""

from __future__ import annotations

from collections.abc import Callable

from pointsman.conditions import (
    AllOf,
    AnyOf,
    Condition,
    ExactlyOneOf,
    Group,
    Matcher,
    Negated,
    NumberComparison,
    Subscription,
)
from pointsman.subscriptions.gates import Leaf

Held = Callable[[Leaf], bool]


def decide(condition: Condition, held: Held) -> bool:
    """Whether the condition holds for the message for which ``held`` says whether a leaf does.

    Exactly what ``condition.holds(metadata)`` says if ``held`` is ``lambda leaf: leaf.holds(metadata)``.

    >>> decide(AllOf((Matcher("a", "1"), Negated(Matcher("b", "2")))), {Matcher("a", "1")}.__contains__)
    True
    """
    match condition:
        case AllOf(parts):
            return all(decide(part, held) for part in parts)
        case AnyOf(parts):
            return any(decide(part, held) for part in parts)
        case ExactlyOneOf(parts):
            return sum(decide(part, held) for part in parts) == 1
        case Negated(inner):
            return not decide(inner, held)
        case Subscription(includes, excludes):
            return _group(includes, held) and not _group(excludes, held)
        case Matcher() | NumberComparison():
            return held(condition)


def _group(group: Group, held: Held) -> bool:
    if group.all:
        return bool(group.matchers) and all(map(held, group.matchers))
    return any(map(held, group.matchers))
