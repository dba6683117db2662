"""The first look at the text of a predicate: its tokens, held to the limits and to the list of what is allowed.

What is not allowed is found here, where its column is known. Fields are read here as well and handed on as one name
each, so that the parser neither sees paths nor takes a name in one for a keyword.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pointsman.conditions.nodes import Field
from pointsman.conditions.scan_field import read_field
from pointsman.errors import PredicateError

if TYPE_CHECKING:
    from sqlglot import Token

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
