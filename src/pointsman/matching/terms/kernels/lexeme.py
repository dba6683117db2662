"""The lexemes of ASCII text, by the word boundaries of UAX #29 as they come out for ASCII.

Letters, digits and ``_`` stay together (WB5, WB8 to WB10, WB13a, WB13b); ``:``, ``.`` and ``'`` stay between letters
(WB6, WB7), and ``,``, ``;``, ``.`` and ``'`` between digits (WB11, WB12). A segment with a letter or a digit is a
lexeme. A test holds this together with ``lexemes``, which knows all of Unicode.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Places, compiled

OTHER, LETTER, DIGIT, JOINER = 0, 1, 2, 3
APOSTROPHE, COMMA, FULL_STOP, COLON, SEMICOLON, LOW_LINE = 39, 44, 46, 58, 59, 95


@compiled
def class_of(byte: int) -> int:
    """What an ASCII character is among words."""
    if 97 <= byte <= 122 or 65 <= byte <= 90:
        return LETTER
    if 48 <= byte <= 57:
        return DIGIT
    return JOINER if byte == LOW_LINE else OTHER


@compiled
def ties(byte: int, kind: int) -> bool:
    """Whether the sign stays between two letters, or between two digits."""
    if kind == LETTER:
        return byte in (FULL_STOP, APOSTROPHE, COLON)
    return kind == DIGIT and byte in (FULL_STOP, APOSTROPHE, COMMA, SEMICOLON)


@compiled
def next_lexeme(data: Bytes, place: int, end: int) -> tuple[int, int]:
    """Where the next lexeme begins and ends; begins at the end when there is none."""
    while place < end:
        kind = class_of(data[place])
        if kind == OTHER:
            place += 1
            continue
        begin = place
        word = kind != JOINER
        place += 1
        while place < end:
            following = class_of(data[place])
            if following == OTHER:
                if not ties(data[place], kind) or place + 1 == end or class_of(data[place + 1]) != kind:
                    break
                place += 1
            kind = class_of(data[place])
            word |= kind != JOINER
            place += 1
        if word:
            return begin, place
    return end, end


@compiled
def find_lexemes(data: Bytes, begins: Places, ends: Places, wanted: Flags, counts: Places, found: Places) -> int:
    """Writes the begin and end of each lexeme of the wanted texts, one after the other, and counts them.

    ``counts`` gets the number in each text, -1 for a text that is not ASCII. ``found`` must have room for two numbers
    for every other byte of the texts, and for two more a text.
    """
    total = 0
    for text in range(begins.size):
        counts[text] = 0
        if not wanted[text]:
            continue
        end = ends[text]
        gathered = np.uint8(0)
        for place in range(begins[text], end):
            gathered |= data[place]
        if gathered >= 128:
            counts[text] = -1
            continue
        begin, stop = next_lexeme(data, begins[text], end)
        while begin < end:
            found[2 * total] = begin
            found[2 * total + 1] = stop
            total += 1
            counts[text] += 1
            begin, stop = next_lexeme(data, stop, end)
    return total
