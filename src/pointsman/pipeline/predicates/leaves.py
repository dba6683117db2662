"""The questions about one field each that a predicate or a condition is made of."""

from __future__ import annotations

from collections.abc import Iterator

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
from pointsman.conditions.nodes import And, Comparison, Constant, In, Is, Like, Missing, Node, Not, Or, Truth


def leaves_of_tree(tree: Node) -> Iterator[Comparison | In | Like | Truth | Missing]:
    """The comparisons of a predicate and what else asks for a field, in their order."""
    match tree:
        case And(operands) | Or(operands):
            for operand in operands:
                yield from leaves_of_tree(operand)
        case Not(operand) | Is(operand):
            yield from leaves_of_tree(operand)
        case Constant():
            pass
        case _:
            yield tree


def leaves_of_condition(condition: Condition) -> Iterator[Matcher | NumberComparison]:
    """The matchers and comparisons of a condition, in their order."""
    match condition:
        case AllOf(parts) | AnyOf(parts) | ExactlyOneOf(parts):
            for part in parts:
                yield from leaves_of_condition(part)
        case Negated(part):
            yield from leaves_of_condition(part)
        case Subscription(includes, excludes):
            yield from includes.matchers
            yield from excludes.matchers
        case Matcher() | NumberComparison():
            yield condition
