"""A second, slow and plain reading of what predicates mean, to hold the real one against.

A predicate is a tuple here: ``("and", parts)``, ``("or", parts)``, ``("not", part)``, ``("is", part, value)``,
``("constant", value)``, ``("bare", field)``, ``("null", field)``, ``("compare", field, operator, literal, turned)``,
``("in", field, literals)``, ``("between", field, low, high)`` and ``("like", field, pattern, escape, ignore_case)``.
A field is a tuple of its root and its steps.
"""

from __future__ import annotations

import json
import string
from typing import Any

from pointsman.message import Message


def value_of(tree: tuple[Any, ...], message: Message) -> bool | None:
    """What the predicate is for the message."""
    kind, *rest = tree
    if kind == "and":
        values = [value_of(part, message) for part in rest[0]]
        return False if False in values else None if None in values else True
    if kind == "or":
        values = [value_of(part, message) for part in rest[0]]
        return True if True in values else None if None in values else False
    if kind == "not":
        return {True: False, False: True, None: None}[value_of(rest[0], message)]
    if kind == "is":
        if rest[1] is None and rest[0][0] == "bare":
            return field_of(rest[0][1], message) is None
        return value_of(rest[0], message) is rest[1]
    if kind == "constant":
        return rest[0]
    value = field_of(rest[0], message)
    if kind == "null":
        return value is None
    if kind == "bare":
        return as_kind_of(True, value)
    if kind == "compare":
        return compare(value, rest[1], rest[2])
    if kind == "in":
        return value_of(("or", [("compare", rest[0], "=", each, False) for each in rest[1]]), message)
    if kind == "between":
        bounds = [("compare", rest[0], ">=", rest[1], False), ("compare", rest[0], "<=", rest[2], False)]
        return value_of(("and", bounds), message)
    return like(value, *rest[1:]) if isinstance(value, str) else None


def field_of(field: tuple[Any, ...], message: Message) -> Any:
    """The value of a field; None if there is none."""
    root, *steps = field
    if root == "metadata":
        return message.metadata.get(steps[0])
    if root != "body":
        return getattr(message, root)
    try:
        value = json.loads(message.body)
        for step in steps:
            if isinstance(step, int) != isinstance(value, list):
                return None
            value = value[step]
    except (ValueError, LookupError, TypeError):
        return None
    return None if isinstance(value, float) and abs(value) == float("inf") else value


def compare(value: Any, operator: str, literal: Any) -> bool | None:
    """A value against a literal, which decides how the value is read."""
    value = as_kind_of(literal, value)
    if value is None:
        return None
    smaller, equal = value < literal, value == literal
    return {
        "=": equal,
        "<>": not equal,
        "<": smaller,
        "<=": smaller or equal,
        ">": not (smaller or equal),
        ">=": not smaller,
    }[operator]


def as_kind_of(literal: Any, value: Any) -> Any:
    """The value as a text, a number or a boolean, as the literal is one; None if it is none."""
    if literal is None or isinstance(literal, str):
        return value if isinstance(value, str) and literal is not None else None
    if isinstance(value, str):
        if value != value.strip() or value[:1] in ('"', "[", "{") or value in ("NaN", "Infinity", "-Infinity"):
            return None
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if isinstance(literal, bool):
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if abs(float(value)) != float("inf") else None
    except OverflowError:
        return None


def like(text: str, pattern: str, escape: str | None, ignore_case: bool) -> bool:
    """Whether the text fits: all ends of the text that the pattern up to a sign can have reached."""
    if ignore_case:
        text = "".join(each.lower() if each in string.ascii_uppercase else each for each in text)
    reached = {0}
    signs = list(pattern)
    while signs:
        sign = signs.pop(0)
        literal = sign == escape
        if literal:
            sign = signs.pop(0)
        if ignore_case and sign in string.ascii_uppercase:
            sign = sign.lower()
        if sign == "%" and not literal:
            reached = {end for end in range(len(text) + 1) if end >= min(reached, default=len(text) + 1)}
        else:
            open_sign = sign == "_" and not literal
            reached = {place + 1 for place in reached if place < len(text) and (open_sign or text[place] == sign)}
    return len(text) in reached
