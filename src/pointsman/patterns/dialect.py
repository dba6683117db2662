"""The four dialects, as data: everything that differs between them is a field here and nowhere else.

Also here: wildcards of another dialect in a pattern, which are literals there and most likely not meant to be.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import NamedTuple

from pointsman.errors import PatternError

ASCII_WHITE_SPACE = frozenset(" \t\n\v\f\r")


class Partial(Enum):
    """What a wildcard sign means when it is only a part of a token."""

    LITERAL = "literal"
    GLOB = "glob"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one family of brokers writes subjects and patterns, and what it allows in them."""

    name: str
    separator: str
    one: str
    """The wildcard for one token."""
    many: str
    """The wildcard for many tokens."""
    many_minimum: int
    """How many tokens the many-wildcard stands for at the least."""
    many_last_only: bool
    partial: Partial
    ignores_case: bool
    empty_tokens: bool
    """Whether a token may be empty."""
    empty_subject: bool
    """Whether the empty text is a subject (of zero tokens)."""
    maximum_bytes: int | None
    ascii_only: bool
    forbidden: frozenset[str]
    """Characters that neither a subject nor a pattern may hold."""
    forbidden_in_subject: frozenset[str]
    """Characters that a pattern may hold and a subject may not."""
    forbidden_tokens: frozenset[str]
    """Whole tokens that a pattern may hold and a subject may not."""
    white_space_at_ends: bool
    """Whether a subject may begin or end with white space."""
    reserved: tuple[str, ...]
    """Names, in lower case, that may stand nowhere in a subject or a pattern."""
    hides_dollar: bool
    """Whether a leading wildcard passes over subjects that begin with ``$``."""

    def __str__(self) -> str:
        return self.name

    @property
    def with_article(self) -> str:
        """The name in a sentence: a nats pattern, an mqtt pattern."""
        return f"{'an' if self.name[0] in 'am' else 'a'} {self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return find_dialect, (self.name,)

    def fold(self, text: str) -> str:
        """The text as it is compared."""
        return text.lower() if self.ignores_case else text

    def split(self, text: str) -> list[str]:
        """The tokens of a text; the empty text has none where it is a subject of its own."""
        return text.split(self.separator) if text or not self.empty_subject else []


NATS = Dialect(
    name="nats",
    separator=".",
    one="*",
    many=">",
    many_minimum=1,
    many_last_only=True,
    partial=Partial.LITERAL,
    ignores_case=False,
    empty_tokens=False,
    empty_subject=False,
    maximum_bytes=None,
    ascii_only=False,
    forbidden=ASCII_WHITE_SPACE | {"\0"},
    forbidden_in_subject=frozenset(),
    forbidden_tokens=frozenset({"*", ">"}),
    white_space_at_ends=True,
    reserved=(),
    hides_dollar=False,
)

AMQP = Dialect(
    name="amqp",
    separator=".",
    one="*",
    many="#",
    many_minimum=0,
    many_last_only=False,
    partial=Partial.LITERAL,
    ignores_case=False,
    empty_tokens=True,
    empty_subject=True,
    maximum_bytes=255,
    ascii_only=False,
    forbidden=frozenset(),
    forbidden_in_subject=frozenset(),
    forbidden_tokens=frozenset(),
    white_space_at_ends=True,
    reserved=(),
    hides_dollar=False,
)

ZATO = Dialect(
    name="zato",
    separator=".",
    one="*",
    many="**",
    many_minimum=0,
    many_last_only=False,
    partial=Partial.GLOB,
    ignores_case=True,
    empty_tokens=True,
    empty_subject=False,
    maximum_bytes=200,
    ascii_only=True,
    forbidden=frozenset(),
    forbidden_in_subject=frozenset({"#"}),
    forbidden_tokens=frozenset(),
    white_space_at_ends=False,
    reserved=("zato", "zpsk"),
    hides_dollar=False,
)

MQTT = Dialect(
    name="mqtt",
    separator="/",
    one="+",
    many="#",
    many_minimum=0,
    many_last_only=True,
    partial=Partial.INVALID,
    ignores_case=False,
    empty_tokens=True,
    empty_subject=False,
    maximum_bytes=65_535,
    ascii_only=False,
    forbidden=frozenset({"\0"}),
    forbidden_in_subject=frozenset({"+", "#"}),
    forbidden_tokens=frozenset(),
    white_space_at_ends=True,
    reserved=(),
    hides_dollar=True,
)

DIALECTS: dict[str, Dialect] = {each.name: each for each in (NATS, AMQP, ZATO, MQTT)}


def find_dialect(name: str | Dialect) -> Dialect:
    """The dialect of that name.

    >>> find_dialect("mqtt").separator
    '/'

    Raises ``PatternError`` (``unknown-dialect``) for any other name.
    """
    if isinstance(name, Dialect):
        return name
    try:
        return DIALECTS[name]
    except (KeyError, TypeError):
        raise PatternError("unknown-dialect", f"there is no dialect {name!r}") from None


# -- wildcards of another dialect: signs that are literal where they stand, and most likely not meant to be


LOG = logging.getLogger("pointsman.patterns")


class ForeignWildcard(NamedTuple):
    """A token that is a wildcard in another dialect and a literal in the pattern's own."""

    token: str
    column: int
    """Counted from 1."""
    dialect: str
    """Where it is a wildcard."""
    problem: str

    def as_error(self, text: str) -> PatternError:
        """The error for a pattern whose dialect was not chosen explicitly."""
        return PatternError("foreign-wildcard", self.problem, text=text, column=self.column)


def find_foreign_wildcard(text: str, dialect: Dialect) -> ForeignWildcard | None:
    """The first wildcard of another dialect that stands alone in the text of a pattern; None if there is none.

    >>> from pointsman.patterns.dialect import AMQP
    >>> find_foreign_wildcard("orders.>", AMQP).problem
    "'>' is a wildcard in nats; in amqp, whose wildcards are '*' and '#', it is a literal"
    """
    own = (dialect.one, dialect.many)
    places = [(other, separator) for other in DIALECTS.values() for separator in {dialect.separator, other.separator}]
    for other, separator in places:
        column = 1
        for token in text.split(separator):
            if token in (other.one, other.many) and token not in own:
                wildcards = " and ".join(map(repr, own))
                problem = f"{token!r} is a wildcard in {other}; in {dialect}, whose wildcards are {wildcards}, it is"
                problem += " a literal"
                return ForeignWildcard(token, column, other.name, problem)
            column += len(token) + 1
    return None


@cache
def foreign_signs(dialect: Dialect) -> frozenset[str]:
    """The wildcards of other dialects that are literals in this one."""
    return frozenset(sign for other in DIALECTS.values() for sign in (other.one, other.many)) - {
        dialect.one,
        dialect.many,
    }


def check_wildcards(text: str, dialect: Dialect, *, chosen: bool) -> None:
    """Warns of a wildcard of another dialect. Raises ``PatternError`` unless the dialect was ``chosen`` explicitly."""
    foreign = find_foreign_wildcard(text, dialect)
    if foreign is None:
        return
    if not chosen:
        raise foreign.as_error(text)
    LOG.warning("the pattern %r: %s", text, foreign.problem)
