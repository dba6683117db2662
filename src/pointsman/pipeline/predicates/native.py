"""The tree of a predicate as a native expression of Spark, with the three values of SQL."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from pointsman.conditions.like import pieces
from pointsman.conditions.nodes import (
    And,
    Comparison,
    Constant,
    Field,
    In,
    Is,
    Kind,
    Like,
    Literal,
    Missing,
    Node,
    Not,
    Operator,
    Or,
    Truth,
)
from pointsman.conditions.values import OPERATORS
from pointsman.pipeline.predicates.fields import field_column, time_literal
from pointsman.pipeline.predicates.fits import fits_column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns

JSON_NUMBER = r"\A-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+\z"
"""What ``conditions.values`` takes for a number, for Java, and such that it never goes back in a text."""


def value_column(tree: Node, columns: MessageColumns) -> Column:
    """What the tree is: TRUE, FALSE or NULL. The tree asks for no field of the body."""
    match tree:
        case And(operands):
            return combined(operator.and_, [value_column(operand, columns) for operand in operands])
        case Or(operands):
            return combined(operator.or_, [value_column(operand, columns) for operand in operands])
        case Not(operand):
            return ~value_column(operand, columns)
        case Is(operand, wanted):
            return value_column(operand, columns).eqNullSafe(_boolean(wanted))
        case Constant(value):
            return _boolean(value)
        case Missing(field):
            return field_column(field, columns).isNull()
        case Truth(field):
            return _read(field, "boolean", columns)
        case Comparison():
            return _compared(tree, columns)
        case In(field, literals):
            return combined(operator.or_, [_among(field, kind, literals, columns) for kind in _kinds(literals)])
        case Like(field, pattern, ignore_case):
            return fits_column(field_column(field, columns), pieces(pattern), ignore_case=ignore_case)


def combined(sign: Callable[[Column, Column], Column], parts: Sequence[Column]) -> Column:
    """The parts with the operator between them, as a tree that is no deeper than it must be."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    return sign(combined(sign, parts[:middle]), combined(sign, parts[middle:]))


def compared(sign: Operator, left: Column, right: Column) -> Column:
    """The two columns with the operator between them."""
    # Columns make columns of the operators of Python.
    return cast("Column", OPERATORS[sign](left, right))


def number_column(text: Column) -> Column:
    """The text as a number; NULL if it is not exactly one as JSON writes it, or too large."""
    from pyspark.sql import functions as sf

    number = text.try_cast("double")
    return sf.when(text.rlike(JSON_NUMBER) & (sf.abs(number) <= sys.float_info.max), number)


def _compared(node: Comparison, columns: MessageColumns) -> Column:
    if node.literal.kind == "null":
        return _boolean(None)
    return compared(node.operator, _read(node.field, node.literal.kind, columns), _written(node.literal))


def _read(field: Field, kind: Kind, columns: MessageColumns) -> Column:
    """The field as literals of this kind are compared with it; NULL if it is unfit.

    No predicate compares ``time`` with anything but times, or times with another field.
    """
    from pyspark.sql import functions as sf

    column = field_column(field, columns)
    if kind == "number":
        return number_column(column)
    if kind == "boolean":
        return sf.when(column == "true", True).when(column == "false", False)
    return column


def _among(field: Field, kind: Kind, literals: Sequence[Literal], columns: MessageColumns) -> Column:
    if kind == "null":
        return _boolean(None)
    return _read(field, kind, columns).isin([_written(literal) for literal in literals if literal.kind == kind])


def _kinds(literals: Sequence[Literal]) -> list[Kind]:
    return list(dict.fromkeys(literal.kind for literal in literals))


def _written(literal: Literal) -> Column:
    from pyspark.sql import functions as sf

    return time_literal(literal.value) if isinstance(literal.value, datetime) else sf.lit(literal.value)


def _boolean(value: bool | None) -> Column:
    from pyspark.sql import functions as sf

    return sf.lit(value).cast("boolean")
