"""Whether a predicate can hold at all: the ranges that it leaves to each field."""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from typing import Any

from pointsman.conditions.compiler import OPERATORS, READERS, compile_like, pieces
from pointsman.conditions.nodes import (
    And,
    Comparison,
    Constant,
    Field,
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

Atom = Comparison | Like | Missing | Not
"""A demand on one field. Not stands before Like and Missing only; no literal is NULL."""

_NEVER_MISSING = ("subject", "id", "source")
_LAST_CHARACTER = "\U0010ffff"


def can_all_hold(atoms: list[Atom]) -> bool:
    """False only if some field has no value that fits all that is demanded of it."""
    by_field: defaultdict[Field, list[Atom]] = defaultdict(list)
    for atom in atoms:
        by_field[_tested(atom).field].append(atom)
    return all(_has_value(field, demands) for field, demands in by_field.items())


def _has_value(field: Field, atoms: list[Atom]) -> bool:
    if any(isinstance(atom, Missing) for atom in atoms):
        return field.root not in _NEVER_MISSING and all(isinstance(atom, Missing) for atom in atoms)
    likes = [tested for atom in atoms if isinstance(tested := _tested(atom), Like)]
    by_kind: defaultdict[str, list[Comparison]] = defaultdict(list)
    for atom in atoms:
        if isinstance(atom, Comparison):
            by_kind[atom.literal.kind].append(atom)
    is_text = bool(likes or by_kind["text"])
    candidates = _candidates(by_kind, is_text)
    if candidates is not None:
        return any(all(_fits(atom, value) for atom in atoms) for value in candidates if field.root != "id" or value)
    return (
        _numbers_left(by_kind["number"])
        and _texts_left(by_kind["text"], [atom for atom in atoms if isinstance(atom, Like)])
        and _times_left(by_kind["time"])
        and not any(Not(like) in atoms and like in atoms for like in likes)
    )


def _candidates(by_kind: dict[str, list[Comparison]], is_text: bool) -> list[Any] | None:
    """All values that can fit, where they are few."""
    for atom in by_kind["text"]:
        if atom.operator == "=":
            return [atom.literal.value]
    if by_kind["boolean"]:
        return ["true", "false"] if is_text or by_kind["number"] else [True, False]
    return None


def _fits(atom: Atom, value: object) -> bool:
    tested = _tested(atom)
    if isinstance(tested, Missing):
        return True
    if isinstance(tested, Like):
        fits = isinstance(value, str) and compile_like(tested.pattern, tested.ignore_case)(value)
        return fits is (tested is atom)
    found = READERS[tested.literal.kind](value)
    return found is not None and OPERATORS[tested.operator](found, tested.literal.value)


def _tested(atom: Atom) -> Comparison | Like | Missing:
    tested = atom.operand if isinstance(atom, Not) else atom
    if not isinstance(tested, Comparison | Like | Missing):
        raise TypeError(f"{tested} is no demand on one field")
    return tested


def _numbers_left(atoms: list[Comparison]) -> bool:
    """Whether a finite float is left; there are neighbours of each, so that '>' is '>=' the next."""
    low, high = -sys.float_info.max, sys.float_info.max
    for operator, limit in _limits(atoms):
        if operator in ("=", ">", ">="):
            low = max(low, math.nextafter(limit, math.inf) if operator == ">" else limit)
        if operator in ("=", "<", "<="):
            high = min(high, math.nextafter(limit, -math.inf) if operator == "<" else limit)
    return low < high or (low == high and ("<>", low) not in _limits(atoms))


def _texts_left(atoms: list[Comparison], likes: list[Like]) -> bool:
    """Whether a text is left; the one after a text is the text with a NUL at its end."""
    low, high, open_high = "", None, False
    limits = _limits(atoms)
    for like in likes:
        prefix = _prefix(like)
        limits += [(">=", prefix)] + ([("<", _after(prefix))] if _after(prefix) else [])
    for operator, limit in limits:
        if operator in (">", ">="):
            low = max(low, limit + "\0" if operator == ">" else limit)
        elif operator in ("<", "<=") and (high is None or (limit, operator == "<=") < (high, not open_high)):
            high, open_high = limit, operator == "<"
    if high is None or low < high:
        return True
    return low == high and not open_high and ("<>", low) not in limits


def _times_left(atoms: list[Comparison]) -> bool:
    limits = _limits(atoms)
    lows = [limit for operator, limit in limits if operator in ("=", ">", ">=")]
    highs = [limit for operator, limit in limits if operator in ("=", "<", "<=")]
    if not lows or not highs or max(lows) < min(highs):
        return True
    point = max(lows)
    return point == min(highs) and not any((operator, point) in limits for operator in ("<", ">", "<>"))


def _limits(atoms: list[Comparison]) -> list[tuple[str, Any]]:
    return [(atom.operator, atom.literal.value) for atom in atoms]


def _prefix(like: Like) -> str:
    """What every text begins with that fits the pattern."""
    prefix = ""
    for sign in pieces(like.pattern):
        if not sign or (like.ignore_case and sign.isascii() and sign.isalpha()):
            break
        prefix += sign
    return prefix


def _after(prefix: str) -> str:
    """A text after all that begin with the prefix and before all others after them; empty if there is none."""
    kept = prefix.rstrip(_LAST_CHARACTER)
    if not kept:
        return ""
    return kept[:-1] + chr(ord(kept[-1]) + 1)


# -- whether a predicate can hold at all


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
