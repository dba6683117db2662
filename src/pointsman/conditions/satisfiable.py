"""Whether a predicate can hold at all."""

from __future__ import annotations

from pointsman.conditions.field_range import Atom, can_all_hold
from pointsman.conditions.nodes import (
    And,
    Comparison,
    Constant,
    In,
    Is,
    Like,
    Literal,
    Missing,
    Node,
    Not,
    Operator,
    Or,
    Truth,
)

MAX_WORK = 100_000
"""Steps after which a predicate counts as one that can hold."""

_OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

Goal = tuple[Node, bool | None]
"""A node and what it is to be."""
Way = tuple[list[Goal], list[Atom]]
"""One way to reach a goal: other goals, and demands on single fields."""


def can_hold(tree: Node) -> bool:
    """False only if no message makes the predicate TRUE; True if one may, also when that is not known.

    It sees literals and contradictory demands on one field, wherever they stand, but not what follows from two
    fields. The work is bounded by ``MAX_WORK``; what would take more counts as a predicate that can hold.

    >>> from pointsman.conditions import Predicate
    >>> can_hold(Predicate("body.a > 5 AND body.a < 3").tree), can_hold(Predicate("body.a > 5 OR FALSE").tree)
    (False, True)
    """
    waiting: list[tuple[list[Goal], list[list[Way]], list[Atom]]] = [([(tree, True)], [], [])]
    work = 0
    while waiting:
        goals, choices, atoms = waiting.pop()
        while goals:
            ways = _ways(*goals.pop())
            if len(ways) == 1:
                goals += ways[0][0]
                atoms += ways[0][1]
            else:
                choices.append(ways)
            work += 1
        work += 1 + len(atoms)
        if work > MAX_WORK:
            return True
        if [] in choices or not can_all_hold(atoms):
            continue
        if not choices:
            return True
        *others, ways = choices
        work += len(ways) * (len(others) + len(atoms))
        waiting += [(list(new_goals), list(others), atoms + new_atoms) for new_goals, new_atoms in ways]
    return False


def _ways(node: Node, aim: bool | None) -> list[Way]:
    """The ways in which a node comes out as TRUE, FALSE or NULL; more than there are, but never fewer."""
    match node:
        case And(operands) | Or(operands):
            if aim is isinstance(node, And):
                return [([(operand, aim) for operand in operands], [])]
            return [([(operand, aim)], []) for operand in operands]
        case Not(operand):
            return [([(operand, None if aim is None else not aim)], [])]
        case Is(operand, value):
            if aim is None:
                return []
            return [([(operand, each)], []) for each in (True, False, None) if (each is value) is aim]
        case Constant(value):
            return [([], [])] if value is aim else []
        case Missing():
            return [] if aim is None else [([], [node if aim else Not(node)])]
        case _:
            return [([], [])] if aim is None else _ways_of_test(node, aim)


def _ways_of_test(node: Comparison | In | Like | Truth, aim: bool) -> list[Way]:
    match node:
        case Truth(field):
            return [([], [Comparison(field, "=", Literal("boolean", aim))])]
        case Like():
            return [([], [node if aim else Not(node)])]
        case Comparison(literal=literal):
            return [] if literal.kind == "null" else [([], [node if aim else _negated(node)])]
        case In(field, literals):
            equal = [Comparison(field, "=", literal) for literal in literals if literal.kind != "null"]
            if aim:
                return [([], [each]) for each in equal]
            return [([], [_negated(each) for each in equal])] if len(equal) == len(literals) else []


def _negated(node: Comparison) -> Comparison:
    return Comparison(node.field, _OPPOSITE[node.operator], node.literal)
