"""From the text of a subject to its tokens, as fast as the ordinary subject allows."""

from __future__ import annotations

import sys
from collections.abc import Callable

from pointsman.errors import SubjectError
from pointsman.patterns.dialect import ASCII_WHITE_SPACE, Dialect
from pointsman.patterns.subject import Subject

Reader = Callable[[str], list[str] | None]

AT_MOST = 3
"""Signs that are looked for one by one."""


def make_reader(dialect: Dialect) -> Reader:
    """The tokens of a subject as the dialect compares them; None for a text that is no subject of the dialect.

    The outcome is that of ``Subject``, which is asked when the text holds anything that needs a second look. ASCII
    without a suspicious sign does not, and is read by a few operations on the whole text.

    >>> from pointsman.patterns import DIALECTS
    >>> read = make_reader(DIALECTS["zato"])
    >>> read("Orders.New"), read("orders#")
    (['orders', 'new'], None)
    """
    suspicious = _suspicious(dialect)
    # Of several signs that are not printed, one test takes care.
    only_printable = sum(not sign.isprintable() for sign in suspicious) > 1
    signs = sorted(sign for sign in suspicious if sign.isprintable() or not only_printable)
    if len(signs) > AT_MOST:
        raise AssertionError(f"{dialect} has too many signs to look for one by one")
    # A sign too many only leads to a second look.
    first, second, third = (*signs, "\0", "\0", "\0")[:AT_MOST]
    longest = sys.maxsize if dialect.maximum_bytes is None else dialect.maximum_bytes
    separator, ignores_case = dialect.separator, dialect.ignores_case
    reserved, empty_tokens = dialect.reserved, dialect.empty_tokens

    def read(text: str) -> list[str] | None:
        if (
            first in text
            or second in text
            or third in text
            or not text.isascii()
            or len(text) > longest
            or not text
            or (only_printable and not text.isprintable())
        ):
            return _look_closely(text, dialect)
        if ignores_case:
            text = text.lower()
        for name in reserved:
            if name in text:
                return None
        tokens = text.split(separator)
        return tokens if empty_tokens or "" not in tokens else None

    return read


def _look_closely(text: str, dialect: Dialect) -> list[str] | None:
    try:
        subject = Subject(text, dialect)
    except SubjectError:
        return None
    return [dialect.fold(token) for token in subject.tokens]


def _suspicious(dialect: Dialect) -> frozenset[str]:
    """The signs that are forbidden, or are so as a whole token or at an end."""
    of_tokens = frozenset("".join(dialect.forbidden_tokens))
    at_ends = frozenset[str]() if dialect.white_space_at_ends else ASCII_WHITE_SPACE
    return dialect.forbidden | dialect.forbidden_in_subject | of_tokens | at_ends
