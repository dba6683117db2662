"""Literals in predicates, and what a field may be compared with."""

from __future__ import annotations

import math
import re
from datetime import UTC
from typing import TYPE_CHECKING

from pointsman.conditions.nodes import Field, Literal
from pointsman.text.timestamp import parse_timestamp

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


def read_literal(tree: Expr) -> Literal | None:
    """The literal that an expression is, or None. Raises ``ValueError`` for a number that cannot be one."""
    match tree.key:
        case "literal" if tree.args["is_string"]:
            return Literal("text", str(tree.this))
        case "literal":
            return Literal("number", _number(tree.this))
        case "neg" if tree.this.key == "literal" and not tree.this.args["is_string"]:
            return Literal("number", -_number(tree.this.this))
        case "boolean":
            return Literal("boolean", bool(tree.this))
        case "null":
            return Literal("null", None)
    return None


def as_compared(literal: Literal, field: Field) -> Literal:
    """The literal as the field is compared with it: a text becomes a time for the field ``time``.

    Raises ``ValueError`` where the two cannot be compared.
    """
    if field.root != "time" or literal.kind == "null":
        return literal
    if literal.kind == "text":
        try:
            time = parse_timestamp(str(literal.value))
            if time is not None:
                return Literal("time", time.astimezone(UTC))
        except (ValueError, OverflowError):
            pass
    raise ValueError("the field 'time' is compared with a time in single quotes, as '2026-05-01T12:00:00Z'")


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a 64-bit float")
    return number
