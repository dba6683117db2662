"""From the text of a predicate to its tree: sqlglot parses what the scan lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.conditions.nodes import Node
from pointsman.conditions.read_tree import TreeReader
from pointsman.conditions.scan import MAX_LENGTH, Scan, scan
from pointsman.errors import PredicateError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr


def parse_predicate(text: str) -> Node:
    """The tree of a predicate. Raises ``PredicateError`` with the column of what is wrong."""
    found = scan(text)
    try:
        return TreeReader(text, found.fields).node(_parse(text, found))
    except RecursionError:
        problem = "the predicate is nested too deeply for what is left of the stack"
        raise PredicateError("predicate-too-deep", problem, text=text) from None


def _parse(text: str, found: Scan) -> Expr:
    from sqlglot.errors import ErrorLevel, ParseError
    from sqlglot.expressions import Condition
    from sqlglot.parser import Parser

    parser = Parser(error_level=ErrorLevel.IMMEDIATE, error_message_context=MAX_LENGTH)
    try:
        trees = parser.parse_into(Condition, found.tokens, text)
    except ParseError as error:
        before = str(error.errors[0].get("start_context", ""))
        problem = "the expression ends too early, or does not go on like this"
        raise PredicateError("bad-predicate", problem, text=text, column=len(before) + 1) from None
    if not trees or trees[0] is None:
        raise PredicateError("bad-predicate", "the predicate is empty", text=text, column=1)
    return trees[0]
