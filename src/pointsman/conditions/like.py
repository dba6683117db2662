r"""Patterns of LIKE: ``_`` is any one character, ``%`` any number of them; a character is a Unicode code point.

No pattern can make the work grow beyond pattern times text over 64.
"""

from __future__ import annotations

import string
from collections import defaultdict
from collections.abc import Callable

ESCAPE = "\\"
"""What the patterns of ``Like`` nodes are written with."""

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def with_backslashes(pattern: str, escape: str | None) -> str:
    r"""The pattern as ``Like`` nodes write it, from one with another escape character or with none.

    Raises ``ValueError`` where the escape character is not followed by itself, ``_`` or ``%``.

    >>> with_backslashes("50!%_", "!"), with_backslashes("a\\b%", None)
    ('50\\%_', 'a\\\\b%')
    """
    written = []
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            sign = next(signs, "")
            if sign not in ("_", "%", escape):
                raise ValueError(f"the escape character {escape!r} stands before neither '_', '%' nor itself")
            written.append(ESCAPE + sign if sign in ("_", "%", ESCAPE) else sign)
        else:
            written.append(ESCAPE + sign if sign == ESCAPE else sign)
    return "".join(written)


def compile_like(pattern: str, ignore_case: bool = False) -> Callable[[str], bool]:
    r"""Whether a whole text fits the pattern of a ``Like`` node; case is that of the 26 ASCII letters.

    >>> fits = compile_like("50\\%%", ignore_case=True)
    >>> fits("50% OFF"), fits("500")
    (True, False)
    """
    fits = _compile(lower(pattern) if ignore_case else pattern)
    if ignore_case:
        return lambda text: fits(lower(text))
    return fits


def lower(text: str) -> str:
    """The text with its ASCII letters in lower case."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def pieces(pattern: str) -> list[str | None]:
    """The pattern sign by sign: ``_`` as None, ``%`` as the empty text, any other character as itself."""
    signs = iter(pattern)
    return [next(signs) if sign == ESCAPE else None if sign == "_" else "" if sign == "%" else sign for sign in signs]


def _compile(pattern: str) -> Callable[[str], bool]:
    signs = pieces(pattern)
    if None in signs:
        return _with_any_one(signs)
    parts = [""]
    for sign in signs:
        if sign:
            parts[-1] += sign
        else:
            parts.append("")
    return _in_order(parts)


def _in_order(parts: list[str]) -> Callable[[str], bool]:
    """Texts that begin with the first part, end with the last, and have the others between in their order."""
    if len(parts) == 1:
        return parts[0].__eq__
    first, *middle, last = parts

    def fits(text: str) -> bool:
        end = len(text) - len(last)
        if end < len(first) or not text.startswith(first) or not text.endswith(last):
            return False
        place = len(first)
        for part in middle:
            place = text.find(part, place, end)
            if place < 0:
                return False
            place += len(part)
        return True

    return fits


def _with_any_one(signs: list[str | None]) -> Callable[[str], bool]:
    """The pattern as a row of states, kept as the bits of one number that moves along the text."""
    takes: defaultdict[str, int] = defaultdict(int)
    any_one = loops = states = 0
    for sign in signs:
        if sign == "":
            loops |= 1 << states
            continue
        states += 1
        if sign is None:
            any_one |= 1 << states
        else:
            takes[sign] |= 1 << states
    masks = {sign: mask | any_one for sign, mask in takes.items()}

    def fits(text: str) -> bool:
        live = 1
        for character in text:
            live = (live << 1 & masks.get(character, any_one)) | (live & loops)
            if not live:
                return False
        return bool(live >> states & 1)

    return fits
