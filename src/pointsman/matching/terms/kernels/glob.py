"""One pattern against one text, over the bytes of UTF-8; ``?`` takes all bytes of one character.

A pattern is first tried greedily: at each ``*`` the rest is put at the first place where it fits, and moved on when it
does not; nearly always that is one pass. The moves are counted. Where a pattern such as ``*aaaab*`` makes them many, a
bit for each byte of the pattern is carried along the text instead: one step for 64 bytes of the pattern and one of the
text, whatever both are.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, compiled

STAR, QUESTION = 42, 63
PATIENCE = 8
"""Greedy steps for each byte of the text before the bits take over."""


@compiled
def is_inside(byte: int) -> bool:
    """Whether the byte continues a character of UTF-8."""
    return byte & 0xC0 == 0x80


@compiled
def next_character(text: Bytes, place: int, end: int) -> int:
    """Where the character after the one at the place begins."""
    place += 1
    while place < end and is_inside(text[place]):
        place += 1
    return place


@compiled
def glob(pattern: Bytes, first: int, last: int, text: Bytes, begin: int, end: int) -> bool:
    """Whether pattern[first:last] matches text[begin:end]."""
    at, place = first, begin
    resume, mark = -1, begin
    steps = PATIENCE * (end - begin) + 64
    while place < end:
        steps -= 1
        if steps < 0:
            return glob_by_bits(pattern, first, last, text, begin, end)
        if at < last:
            sign = pattern[at]
            if sign == STAR:
                at += 1
                if at == last:
                    return True
                resume, mark = at, place
                continue
            if sign == QUESTION:
                place = next_character(text, place, end)
                at += 1
                continue
            if sign == text[place]:
                place += 1
                at += 1
                continue
        if resume < 0:
            return False
        mark = next_character(text, mark, end)
        sign = pattern[resume]
        if sign != STAR and sign != QUESTION:
            while mark < end and text[mark] != sign:
                mark += 1
        at, place = resume, mark
    while at < last and pattern[at] == STAR:
        at += 1
    return at == last


@compiled
def glob_by_bits(pattern: Bytes, first: int, last: int, text: Bytes, begin: int, end: int) -> bool:
    """The same, by a set of states kept as bits: state n has the first n bytes of the pattern, stars not counted."""
    width = (last - first) // 64 + 1
    zero, one = np.uint64(0), np.uint64(1)
    takes = np.zeros((256, width), np.uint64)
    loops = np.zeros(width, np.uint64)
    inner_loops = np.zeros(width, np.uint64)
    states = 0
    for at in range(first, last):
        sign = pattern[at]
        if sign == STAR:
            loops[states >> 6] |= one << np.uint64(states & 63)
            continue
        states += 1
        bit = one << np.uint64(states & 63)
        if sign == QUESTION:
            inner_loops[states >> 6] |= bit
            for byte in range(256):
                if not is_inside(byte):
                    takes[byte, states >> 6] |= bit
        else:
            takes[sign, states >> 6] |= bit
    inner_loops |= loops
    live = np.zeros(width, np.uint64)
    live[0] = one
    for place in range(begin, end):
        byte = text[place]
        inside = is_inside(byte)
        carry = zero
        for word in range(width):
            old = live[word]
            stay = inner_loops[word] if inside else loops[word]
            live[word] = (((old << one) | carry) & takes[byte, word]) | (old & stay)
            carry = old >> np.uint64(63)
    return bool((live[states >> 6] >> np.uint64(states & 63)) & one == one)
