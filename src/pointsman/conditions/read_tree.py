"""From the expressions of sqlglot to the nodes of a predicate; what has no node is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.conditions.like import with_backslashes
from pointsman.conditions.literals import as_compared, read_literal
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
from pointsman.errors import PredicateError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

_OPERATORS: dict[str, tuple[Operator, Operator]] = {
    "eq": ("=", "="),
    "neq": ("<>", "<>"),
    "lt": ("<", ">"),
    "lte": ("<=", ">="),
    "gt": (">", "<"),
    "gte": (">=", "<="),
}
"""The operator of each comparison, and the one that says the same with its sides exchanged."""


class TreeReader:
    """Makes nodes of expressions. It knows the text for its errors, and the fields that the names stand for."""

    def __init__(self, text: str, fields: list[Field]) -> None:
        self.text = text
        self.fields = fields

    def node(self, tree: Expr) -> Node:
        """The node of an expression. Raises ``PredicateError`` for one that a predicate does not have."""
        match tree.key:
            case "paren":
                return self.node(tree.this)
            case "and":
                return And(tuple(self.node(operand) for operand in _chain(tree)))
            case "or":
                return Or(tuple(self.node(operand) for operand in _chain(tree)))
            case "not":
                return Not(self.node(tree.this))
            case "boolean":
                return Constant(bool(tree.this))
            case "null":
                return Constant(None)
            case "column":
                return Truth(self._field(tree, "boolean"))
            case _:
                return self._about_field(tree)

    def _about_field(self, tree: Expr) -> Node:
        match tree.key:
            case "is":
                return self._is(tree)
            case "in":
                return self._in(tree)
            case "between":
                return self._between(tree)
            case "like" | "ilike":
                return self._like(tree, None)
            case "escape" if tree.this.key in ("like", "ilike"):
                return self._like(tree.this, tree.expression)
            case key if key in _OPERATORS:
                return self._comparison(tree)
            case _:
                raise self._refused(tree, "this is no condition that is TRUE, FALSE or NULL")

    def _comparison(self, tree: Expr) -> Node:
        operator, exchanged = _OPERATORS[tree.key]
        left, right = _bare(tree.this), _bare(tree.expression)
        if left.key == "column":
            return Comparison(field := self._field(left), operator, self._literal(right, field))
        if right.key == "column":
            return Comparison(field := self._field(right), exchanged, self._literal(left, field))
        raise self._refused(tree, "a comparison is of one field with one literal")

    def _between(self, tree: Expr) -> Node:
        field = self._field(tree.this)
        low, high = (self._literal(tree.args[name], field) for name in ("low", "high"))
        return And((Comparison(field, ">=", low), Comparison(field, "<=", high)))

    def _in(self, tree: Expr) -> Node:
        field = self._field(tree.this)
        if not tree.expressions:
            raise self._refused(tree, "after IN stand one or more literals in parentheses")
        return In(field, tuple(self._literal(each, field) for each in tree.expressions))

    def _like(self, tree: Expr, escape: Expr | None) -> Node:
        field = self._field(tree.this, "text")
        pattern = self._literal(tree.expression)
        sign = None if escape is None else self._literal(escape)
        if pattern.kind != "text" or (sign is not None and (sign.kind != "text" or len(str(sign.value)) != 1)):
            raise self._refused(tree, "LIKE has a pattern in single quotes, ESCAPE one character in single quotes")
        try:
            text = with_backslashes(str(pattern.value), None if sign is None else str(sign.value))
        except ValueError as error:
            raise self._refused(tree.expression, str(error), "predicate-literal") from None
        found = Like(field, text, tree.key == "ilike")
        return Not(found) if tree.args.get("negate") else found

    def _is(self, tree: Expr) -> Node:
        what = self._literal(tree.expression)
        if what.kind not in ("boolean", "null"):
            raise self._refused(tree.expression, "IS stands before NULL, TRUE and FALSE only")
        value = None if what.value is None else bool(what.value)
        if _bare(tree.this).key == "column":
            if value is None:
                return Missing(self._field(tree.this))
        elif tree.this.key != "paren":
            raise self._refused(tree, "what stands before IS, if it is no field, stands in parentheses")
        return Is(self.node(tree.this), value)

    def _field(self, tree: Expr, needed: str | None = None) -> Field:
        tree = _bare(tree)
        # A name that the scan did not make is a keyword that the parser took for a column.
        if tree.key != "column" or not tree.this.args.get("quoted"):
            raise self._refused(tree, "here stands a field of the message")
        field = self.fields[int(tree.name)]
        if field.root == "time" and needed is not None:
            raise self._refused(tree, f"the field 'time' is no {needed}", "predicate-literal")
        return field

    def _literal(self, tree: Expr, field: Field | None = None) -> Literal:
        tree = _bare(tree)
        try:
            literal = read_literal(tree)
            if literal is not None:
                return literal if field is None else as_compared(literal, field)
        except ValueError as error:
            raise self._refused(tree, str(error), "predicate-literal") from None
        raise self._refused(tree, "here stands a literal: a text in single quotes, a number, TRUE, FALSE or NULL")

    def _refused(self, tree: Expr, problem: str, code: str = "predicate-construct") -> PredicateError:
        starts = [start for each in tree.walk() if (start := each.meta.get("start")) is not None]
        return PredicateError(code, problem, text=self.text, column=min(starts, default=0) + 1)


def _bare(tree: Expr) -> Expr:
    while tree.key == "paren":
        tree = tree.this
    return tree


def _chain(tree: Expr) -> list[Expr]:
    """The operands of a row of ANDs, or of ORs, which sqlglot hangs one below the other."""
    key = tree.key
    operands = []
    while tree.key == key:
        operands.append(tree.expression)
        tree = tree.this
    return [tree, *reversed(operands)]
