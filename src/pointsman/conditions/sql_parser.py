"""From the text of a predicate to its tree.

A scan of the tokens enforces the limits and the list of what is allowed; sqlglot parses what the scan lets through; the
expressions that it returns become nodes, and what has no node is refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pointsman._util.time import parse_timestamp
from pointsman.conditions.compiler import with_backslashes
from pointsman.conditions.nodes import (
    ROOTS,
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
    from sqlglot import Token
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


# -- from the expressions of sqlglot to the nodes of a predicate; what has no node is refused


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


# -- fields in the text of a predicate: ``subject``, ``metadata['key']``, ``body.items[0].price``


MAX_STEPS = 32
"""How many names and positions the path of a field may have."""

_WORD = re.compile(r"[^\W\d]\w*")
_POSITION = re.compile(r"0|[1-9][0-9]{0,8}")


def read_field(text: str, tokens: list[Token], place: int) -> tuple[Field, int]:
    """The field whose root is at the place, and the place after it.

    Raises ``PredicateError``: ``unknown-field`` for a field that no message has, ``predicate-construct`` for a
    function, ``predicate-too-long`` for a path of too many steps.
    """
    first = tokens[place]
    _check_root(text, tokens, place)
    steps: list[str | int] = []
    place += 1
    while place < len(tokens) and tokens[place].text in (".", "[") and tokens[place].token_type.name != "STRING":
        step, place = _step(text, tokens, place)
        steps.append(step)
        if len(steps) > MAX_STEPS:
            problem = f"the path of a field has up to {MAX_STEPS} steps"
            raise PredicateError("predicate-too-long", problem, text=text, column=first.start + 1)
    if _is_call(tokens, place - 1):
        raise _no_functions(text, first)
    _check_path(text, first, steps)
    return Field(first.text, tuple(steps)), place


def _check_root(text: str, tokens: list[Token], place: int) -> None:
    token = tokens[place]
    if token.text in ROOTS:
        return
    if _is_call(tokens, place):
        raise _no_functions(text, token)
    if token.token_type.name not in ("VAR", "IDENTIFIER"):
        problem = f"{token.text!r} is no part of a predicate"
        raise PredicateError("predicate-construct", problem, text=text, column=token.start + 1)
    close = get_close_matches(token.text, ROOTS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"its fields are {', '.join(ROOTS)}"
    raise PredicateError(
        "unknown-field", f"a message has no field {token.text!r}; {hint}", text=text, column=token.start + 1
    )


def _check_path(text: str, first: Token, steps: list[str | int]) -> None:
    if first.text == "metadata":
        if len(steps) == 1 and isinstance(steps[0], str):
            return
        problem = "metadata has one key and nothing below it: metadata['key']"
    elif steps and first.text != "body":
        problem = f"the field {first.text!r} has nothing below it"
    else:
        return
    raise PredicateError("unknown-field", problem, text=text, column=first.start + 1)


def _step(text: str, tokens: list[Token], place: int) -> tuple[str | int, int]:
    """The step of a path that begins with the ``.`` or ``[`` at the place, and the place after it."""
    opening, *following = tokens[place : place + 3]
    kinds = [token.token_type.name for token in following]
    if opening.text == ".":
        if kinds and (kinds[0] == "IDENTIFIER" or (kinds[0] != "STRING" and _WORD.fullmatch(following[0].text))):
            return following[0].text, place + 2
        problem = "a name follows a '.'; write ['…'] for a name with other signs, and [0] for a position"
    else:
        if len(kinds) == 2 and kinds[1] == "R_BRACKET":
            if kinds[0] == "STRING":
                return following[0].text, place + 3
            if kinds[0] == "NUMBER" and _POSITION.fullmatch(following[0].text):
                return int(following[0].text), place + 3
        problem = "between '[' and ']' stands one name in single quotes, or one position from 0"
    raise PredicateError("bad-predicate", problem, text=text, column=opening.start + 1)


def _is_call(tokens: list[Token], place: int) -> bool:
    return place + 1 < len(tokens) and tokens[place + 1].token_type.name == "L_PAREN"


def _no_functions(text: str, token: Token) -> PredicateError:
    problem = f"{token.text!r} is used as a function, and there are none"
    return PredicateError("predicate-construct", problem, text=text, column=token.start + 1)


# -- the first look at the text of a predicate: its tokens, held to the limits and to the list of what is allowed
#
# What is not allowed is found here, where its column is known. Fields are read here as well and handed on as one name
# each, so that the parser neither sees paths nor takes a name in one for a keyword.


MAX_LENGTH = 10_000
"""Characters in the text of a predicate."""
MAX_DEPTH = 20
"""How deep parentheses and NOT may be nested."""

_WORDS = frozenset({"AND", "OR", "NOT", "IS", "NULL", "TRUE", "FALSE", "IN", "BETWEEN", "LIKE", "ILIKE", "ESCAPE"})
_SIGNS = frozenset({"=", "<>", "!=", "<", "<=", ">", ">=", "(", ")", ",", "-"})
_ENDS_OPERAND = frozenset({"STRING", "NUMBER", "NULL", "TRUE", "FALSE", "R_PAREN", "IDENTIFIER"})
_CLOSED = re.compile(r"""(?:[^'"/-]|'(?:[^']|'')*+'|"(?:[^"]|"")*+"|--[^\n]*|/\*.*?\*/|/(?!\*)|-(?!-))*+""", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*|\".*\"", re.DOTALL)


@dataclass(slots=True)
class Scan:
    """The tokens for the parser, and the fields that the names in them stand for: name ``0`` is the first field."""

    tokens: list[Token] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)


def scan(text: str) -> Scan:
    """The tokens of a predicate. Raises ``PredicateError`` for all that can be seen without knowing the structure."""
    _check_text(text)
    tokens = _tokenize(text)
    sources = [text[token.start : token.end + 1] for token in tokens]
    _check_depth(text, tokens, sources)
    found = Scan()
    place = 0
    while place < len(tokens):
        token, source = tokens[place], sources[place]
        kind = token.token_type.name
        if source == "-" and not _is_sign(found.tokens[-1:], tokens[place + 1 : place + 2]):
            problem = "a minus is the sign of a number, and there is no arithmetic"
            raise PredicateError("predicate-construct", problem, text=text, column=token.start + 1)
        if kind in ("STRING", "NUMBER") or source in _SIGNS or source.upper() in _WORDS:
            found.tokens.append(token)
            place += 1
        elif _NAME.fullmatch(source):
            place = _scan_field(text, tokens, place, found)
        else:
            raise PredicateError(
                "predicate-construct", f"{source!r} is no part of a predicate", text=text, column=token.start + 1
            )
    return found


def _is_sign(before: list[Token], after: list[Token]) -> bool:
    """Whether a minus between these is the sign of a number."""
    if before and before[0].token_type.name in _ENDS_OPERAND:
        return False
    return bool(after) and after[0].token_type.name == "NUMBER"


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise PredicateError("bad-predicate", f"a predicate is a text, not {type(text).__name__}")
    if len(text) > MAX_LENGTH:
        problem = f"a predicate has up to {MAX_LENGTH} characters; this one has {len(text)}"
        raise PredicateError("predicate-too-long", problem, column=MAX_LENGTH + 1)
    unusable = re.search("[\0\ud800-\udfff]", text)
    if unusable:
        problem = f"{unusable[0]!r} cannot stand in a predicate"
        raise PredicateError("bad-predicate", problem, text=text, column=unusable.start() + 1)


def _tokenize(text: str) -> list[Token]:
    from sqlglot import Tokenizer
    from sqlglot.errors import TokenError

    try:
        return Tokenizer().tokenize(text)
    except TokenError:
        closed = _CLOSED.match(text)
        column = closed.end() + 1 if closed else 1
        problem = "a quote or a comment is opened and not closed"
        raise PredicateError("bad-predicate", problem, text=text, column=column) from None


def _check_depth(text: str, tokens: list[Token], sources: list[str]) -> None:
    depth = prefixes = 0
    opened: list[int] = []
    for token, source in zip(tokens, sources, strict=True):
        if source.upper() == "NOT":
            prefixes += 1
        elif source == "(":
            opened.append(prefixes + 1)
            depth += prefixes + 1
            prefixes = 0
        else:
            prefixes = 0
            if source == ")" and opened:
                depth -= opened.pop()
        if depth + prefixes > MAX_DEPTH:
            problem = f"parentheses and NOT are nested more than {MAX_DEPTH} deep"
            raise PredicateError("predicate-too-deep", problem, text=text, column=token.start + 1)


def _scan_field(text: str, tokens: list[Token], place: int, found: Scan) -> int:
    """The field that begins at a place is put into what is found; the place after it is given back."""
    from sqlglot import Token, TokenType

    first = tokens[place]
    read, place = read_field(text, tokens, place)
    last = tokens[place - 1]
    name = str(len(found.fields))
    found.fields.append(read)
    found.tokens.append(Token(TokenType.IDENTIFIER, name, last.line, last.col, first.start, last.end))
    return place


# -- from the text of a predicate to its tree: sqlglot parses what the scan lets through


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
