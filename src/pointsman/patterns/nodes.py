"""The nodes of a pattern, one for each token or wildcard: parsed from its text, and written back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from pointsman.errors import PatternError
from pointsman.patterns.dialect import Dialect, Partial
from pointsman.patterns.subject import check_text


class Run(Enum):
    """A wildcard for any number of characters inside a glob."""

    WITHIN = "*"
    """Stops at the separator."""
    ACROSS = "**"
    """Crosses separators."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Exactly this token (already folded where the dialect ignores case)."""

    text: str


@dataclass(frozen=True, slots=True)
class One:
    """Any one token."""


@dataclass(frozen=True, slots=True)
class Many:
    """Any tokens, at least so many."""

    minimum: int


@dataclass(frozen=True, slots=True)
class Glob:
    """A token in parts: texts, and wildcards for characters between them. No two of a kind stand together."""

    parts: tuple[str | Run, ...]

    @property
    def crosses(self) -> bool:
        """Whether one of its wildcards crosses separators, so that it may take in several tokens."""
        return Run.ACROSS in self.parts


Node = Literal | One | Many | Glob
Nodes = tuple[Node, ...]


def has_glob(nodes: Nodes) -> bool:
    """Whether some node is a glob, so that characters and not tokens have to be compared."""
    return any(isinstance(node, Glob) for node in nodes)


def wildcards_of(node: Node) -> int:
    """How many wildcards a node holds."""
    match node:
        case Literal():
            return 0
        case Glob(parts):
            return sum(isinstance(part, Run) for part in parts)
        case _:
            return 1


def without_repeated_many(nodes: Nodes) -> Nodes:
    """The nodes with one many-wildcard in the place of several that stand together."""
    return tuple(
        node
        for node, previous in zip(nodes, (None, *nodes), strict=False)
        if not (isinstance(node, Many) and isinstance(previous, Many))
    )


# -- from the text of a pattern to its nodes, and back


ASTERISKS = re.compile(r"(\*+)")


def parse_nodes(text: str, dialect: Dialect) -> Nodes:
    """The nodes of a pattern.

    Raises ``PatternError`` that names the character or token and the reason.
    """
    check_text(text, dialect, "pattern", PatternError)
    tokens = dialect.split(text)
    nodes: list[Node] = []
    column = 1
    for number, token in enumerate(tokens, 1):
        if token == dialect.many:
            if dialect.many_last_only and number < len(tokens):
                raise PatternError(
                    "wildcard-not-last",
                    f"token {number} is {token!r}, which {dialect.with_article} pattern may hold only at the end",
                    text=text,
                    column=column,
                )
            nodes.append(Many(dialect.many_minimum))
        elif token == dialect.one:
            nodes.append(One())
        elif dialect.partial is Partial.GLOB and "*" in token:
            nodes.append(Glob(tuple(_parts(dialect.fold(token)))))
        else:
            if dialect.partial is Partial.INVALID and (dialect.one in token or dialect.many in token):
                raise _sign_in_token(text, token, column, dialect)
            nodes.append(Literal(dialect.fold(token)))
        column += len(token) + len(dialect.separator)
    return tuple(nodes)


def _parts(token: str) -> Iterator[str | Run]:
    """The parts of a glob. Two or more asterisks together cross separators: ``***`` says no more than ``**``."""
    for piece in ASTERISKS.split(token):
        if piece.startswith("*"):
            yield Run.WITHIN if len(piece) == 1 else Run.ACROSS
        elif piece:
            yield piece


def _sign_in_token(text: str, token: str, column: int, dialect: Dialect) -> PatternError:
    offset = min(place for sign in (dialect.one, dialect.many) if (place := token.find(sign)) >= 0)
    return PatternError(
        "wildcard-not-alone",
        f"{token[offset]!r} is a part of the level {token!r}; in {dialect} a wildcard is a whole level",
        text=text,
        column=column + offset,
    )


def write_nodes(nodes: Nodes, dialect: Dialect) -> str:
    """A text that parses into these nodes."""
    return dialect.separator.join(_write_node(node, dialect) for node in nodes)


def _write_node(node: Node, dialect: Dialect) -> str:
    match node:
        case Literal(text):
            return text
        case One():
            return dialect.one
        case Many():
            return dialect.many
        case Glob((Run.ACROSS,)):
            return "***"
        case Glob(parts):
            return "".join(part if isinstance(part, str) else part.value for part in parts)
