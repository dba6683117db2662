"""JSON as compiled code reads it: what is plainly written, and nothing else.

Whatever is not as it is expected, be it wrong or only unusual (escapes, numbers with exponents), makes a function give
``ODD``; the text is then read by the long way, which knows all of JSON and says what is wrong. So these functions need
not be complete, but what they accept must mean the same to both. The texts are UTF-8, which is checked before.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, compiled

ODD = -1
QUOTE, BACKSLASH, COMMA, COLON = 34, 92, 44, 58
OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT = 91, 93, 123, 125
NULL, TRUE, FALSE = 0, 1, 2

WORDS = np.frombuffer(b"nulltruefalse", np.uint8)
_DIGITS = 15
"""Digits of a number: as many as a float holds exactly."""


@compiled
def skip_space(data: Bytes, place: int, end: int) -> int:
    """The next place that is no white space."""
    while place < end and (data[place] == 32 or data[place] == 9 or data[place] == 10 or data[place] == 13):
        place += 1
    return place


@compiled
def past(data: Bytes, place: int, end: int, sign: int) -> int:
    """The place behind this sign, which comes next but for white space; else ``ODD``."""
    place = skip_space(data, place, end)
    return place + 1 if place < end and data[place] == sign else ODD


@compiled
def text_end(data: Bytes, place: int, end: int) -> int:
    """Where the quote is that ends a text, which begins at a place; ``ODD`` for one with escapes."""
    while place < end:
        sign = data[place]
        if sign == QUOTE:
            return place
        if sign == BACKSLASH or sign < 32:
            return ODD
        place += 1
    return ODD


@compiled
def equals(data: Bytes, begin: int, end: int, words: Bytes, first: int, stop: int) -> bool:
    """Whether a text is that part of some words."""
    if end - begin != stop - first:
        return False
    for place in range(end - begin):
        if data[begin + place] != words[first + place]:
            return False
    return True


@compiled
def constant(data: Bytes, place: int, end: int) -> int:
    """``NULL``, ``TRUE`` or ``FALSE`` if that stands at a place, else ``ODD``."""
    if place + 4 <= end and equals(data, place, place + 4, WORDS, 0, 4):
        return NULL
    if place + 4 <= end and equals(data, place, place + 4, WORDS, 4, 8):
        return TRUE
    if place + 5 <= end and equals(data, place, place + 5, WORDS, 8, 13):
        return FALSE
    return ODD


@compiled
def constant_end(place: int, found: int) -> int:
    """The place behind a constant."""
    return place + 5 if found == FALSE else place + 4


@compiled
def number_end(data: Bytes, place: int, end: int) -> int:
    """The place behind a number without exponent and with few digits; else ``ODD``."""
    first = place
    if place < end and data[place] == 45:
        place += 1
    whole = place
    while place < end and 48 <= data[place] <= 57:
        place += 1
    if place == whole or (data[whole] == 48 and place > whole + 1):
        return ODD
    if place < end and data[place] == 46:
        fraction = place + 1
        place = fraction
        while place < end and 48 <= data[place] <= 57:
            place += 1
        if place == fraction:
            return ODD
    if place - first > _DIGITS or (place < end and (data[place] == 101 or data[place] == 69)):
        return ODD
    return place


@compiled
def number_at(data: Bytes, place: int, end: int) -> float:
    """The number that ``number_end`` has found the end of; exact, as both parts of the quotient are."""
    sign = 1.0
    if data[place] == 45:
        sign = -1.0
        place += 1
    digits = 0.0
    scale = 1.0
    is_fraction = False
    while place < end:
        if data[place] == 46:
            is_fraction = True
        else:
            digits = digits * 10.0 + (data[place] - 48)
            if is_fraction:
                scale *= 10.0
        place += 1
    return sign * digits / scale


@compiled
def value_end(data: Bytes, place: int, end: int) -> int:
    """The place behind an object or a list, by its brackets; what is inside is not looked at. Else ``ODD``."""
    depth = 0
    while place < end:
        sign = data[place]
        if sign == QUOTE:
            place += 1
            while place < end and data[place] != QUOTE:
                place += 2 if data[place] == BACKSLASH else 1
            if place >= end:
                return ODD
        elif sign == OPEN_OBJECT or sign == OPEN_LIST:
            depth += 1
        elif sign == CLOSE_OBJECT or sign == CLOSE_LIST:
            depth -= 1
            if depth == 0:
                return place + 1
        elif depth == 0:
            return ODD
        place += 1
    return ODD
