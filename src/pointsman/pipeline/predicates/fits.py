"""Texts that fit a pattern with wildcards, as a native expression.

A pattern is a row of signs: None for any one character, the empty text for any number of them, and else a character.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pointsman.matching.terms.glob import ANY_NUMBER, ANY_ONE

if TYPE_CHECKING:
    from pyspark.sql import Column

Signs = Sequence[str | None]


def glob_signs(pattern: str) -> Signs:
    """The signs of the pattern of a matcher."""
    return [None if sign == ANY_ONE else "" if sign == ANY_NUMBER else sign for sign in pattern]


def fits_column(text: Column, signs: Signs, *, ignore_case: bool = False) -> Column:
    """Whether the whole text fits; NULL where it is NULL. ``ignore_case`` is about the 26 ASCII letters."""
    first, *others = _segments(signs)
    if ignore_case or None in signs or len(others) > 2 or (len(others) == 2 and (first or others[1])):
        return text.rlike(_expression([first, *others], ignore_case=ignore_case))
    if not others:
        return text == _literal(first)
    if len(others) == 2:
        return text.contains(_literal(others[0]))
    return _begins_and_ends(text, _literal(first), _literal(others[0]))


def _begins_and_ends(text: Column, first: str, last: str) -> Column:
    from pyspark.sql import functions as sf

    if not last:
        return text.startswith(first)
    if not first:
        return text.endswith(last)
    long_enough = sf.octet_length(text) >= len(first.encode()) + len(last.encode())
    return long_enough & text.startswith(first) & text.endswith(last)


def _segments(signs: Signs) -> list[list[str | None]]:
    """What stands before, between and after the places for any number of characters; nothing between is left out."""
    segments: list[list[str | None]] = [[]]
    for sign in signs:
        if sign == "":
            segments.append([])
        else:
            segments[-1].append(sign)
    return [segment for place, segment in enumerate(segments) if segment or place in (0, len(segments) - 1)]


def _literal(segment: list[str | None]) -> str:
    return "".join(sign or "" for sign in segment)


def _expression(segments: list[list[str | None]], *, ignore_case: bool) -> str:
    """The regular expression for Java.

    A segment has one length, so that the first place where one fits is as good as any: ``(?>`` never comes back to it,
    and no text takes longer than its length times that of the pattern.
    """
    first, *others = ["".join("." if sign is None else _quoted(sign) for sign in segment) for segment in segments]
    flags = "(?is)" if ignore_case else "(?s)"
    if not others:
        return rf"{flags}\A{first}\z"
    *between, last = others
    return rf"{flags}\A{first}" + "".join(f"(?>.*?{segment})" for segment in between) + rf".*{last}\z"


def _quoted(character: str) -> str:
    return character if character.isascii() and character.isalnum() else rf"\x{{{ord(character):x}}}"
