"""Wildcards of another dialect: signs that are literal where they stand, and most likely not meant to be."""

from __future__ import annotations

import logging
from functools import cache
from typing import NamedTuple

from pointsman.errors import PatternError
from pointsman.patterns.dialect import DIALECTS, Dialect

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
