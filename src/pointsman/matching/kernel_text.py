"""Compiled code: what is text and what is not, by the bytes. The same rules as ``patterns``, at the speed of a column.

A test holds the two together: whatever ``Subject`` or ``Pattern`` refuses is refused here, and nothing else.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NATS, AMQP, ZATO, MQTT = 0, 1, 2, 3

# What a pattern is, for the index.
TRIE = 0
"""Literals, one-wildcards and many-wildcards: goes into the trie."""
INVALID = 1
"""The dialect does not allow it."""
VOID = 2
"""Valid, and matched by no subject."""
GLOB = 3
"""Has a wildcard inside a token."""

DOT, SLASH, STAR, GREATER, HASH, PLUS, DOLLAR = 46, 47, 42, 62, 35, 43, 36


@njit(cache=True, nogil=True)
def is_blank(byte):
    """ASCII white space as NATS forbids it."""
    return byte == 32 or 9 <= byte <= 13


@njit(cache=True, nogil=True)
def is_space(byte):
    """What Python's strip() takes off ASCII text."""
    return byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31


@njit(cache=True, nogil=True)
def holds_reserved(data, start, stop):
    """Whether 'zato' or 'zpsk' stands somewhere; the text is in lower case."""
    for place in range(start, stop - 3):
        if data[place] == 122:
            second, third, fourth = data[place + 1], data[place + 2], data[place + 3]
            if second == 97 and third == 116 and fourth == 111:
                return True
            if second == 112 and third == 115 and fourth == 107:
                return True
    return False


@njit(cache=True, nogil=True)
def is_subject(data, start, stop, dialect):
    """Whether the text is a valid subject."""
    size = stop - start
    if dialect == AMQP:
        return size <= 255
    if size == 0:
        return False
    if dialect == NATS:
        previous = DOT
        for place in range(start, stop):
            byte = data[place]
            if byte == 0 or is_blank(byte):
                return False
            if byte == DOT and previous == DOT:
                return False
            if (byte == STAR or byte == GREATER) and previous == DOT and (place + 1 == stop or data[place + 1] == DOT):
                return False
            previous = byte
        return previous != DOT
    if dialect == MQTT:
        if size > 65_535:
            return False
        for place in range(start, stop):
            byte = data[place]
            if byte == 0 or byte == HASH or byte == PLUS:
                return False
        return True
    if size > 200 or is_space(data[start]) or is_space(data[stop - 1]):
        return False
    for place in range(start, stop):
        if data[place] > 127 or data[place] == HASH:
            return False
    return not holds_reserved(data, start, stop)


@njit(cache=True, nogil=True)
def nats_pattern(data, start, stop):
    """What a NATS pattern is."""
    if start == stop:
        return INVALID
    previous = DOT
    for place in range(start, stop):
        byte = data[place]
        if byte == 0 or is_blank(byte) or (byte == DOT and previous == DOT):
            return INVALID
        if byte == GREATER and previous == DOT and place + 1 < stop and data[place + 1] == DOT:
            return INVALID
        previous = byte
    return TRIE if previous != DOT else INVALID


@njit(cache=True, nogil=True)
def mqtt_pattern(data, start, stop):
    """What an MQTT pattern is."""
    if start == stop or stop - start > 65_535:
        return INVALID
    for place in range(start, stop):
        byte = data[place]
        if byte == 0:
            return INVALID
        if byte == HASH and (place + 1 < stop or (place > start and data[place - 1] != SLASH)):
            return INVALID
        if byte == PLUS:
            if place > start and data[place - 1] != SLASH:
                return INVALID
            if place + 1 < stop and data[place + 1] != SLASH:
                return INVALID
    return TRIE


@njit(cache=True, nogil=True)
def zato_pattern(data, start, stop):
    """What a Zato pattern, in lower case, is."""
    if start == stop or stop - start > 200 or holds_reserved(data, start, stop):
        return INVALID
    void = is_space(data[start]) or is_space(data[stop - 1])
    glob = False
    token, stars = start, 0
    for place in range(start, stop + 1):
        if place == stop or data[place] == DOT:
            if stars and (stars != place - token or stars > 2):
                glob = True
            token, stars = place + 1, 0
            continue
        byte = data[place]
        if byte > 127:
            return INVALID
        if byte == HASH:
            void = True
        if byte == STAR:
            stars += 1
    if void:
        return VOID
    return GLOB if glob else TRIE


@njit(cache=True, nogil=True)
def classify_patterns(data, offsets, dialect):
    """What each pattern is: TRIE, INVALID, VOID or GLOB."""
    count = len(offsets) - 1
    found = np.empty(count, np.uint8)
    for index in range(count):
        start, stop = offsets[index], offsets[index + 1]
        if dialect == NATS:
            found[index] = nats_pattern(data, start, stop)
        elif dialect == AMQP:
            found[index] = TRIE if stop - start <= 255 else INVALID
        elif dialect == MQTT:
            found[index] = mqtt_pattern(data, start, stop)
        else:
            found[index] = zato_pattern(data, start, stop)
    return found


@njit(cache=True, nogil=True)
def stands_alone(data, start, stop, first, last, separator):
    """Whether what stands from ``first`` to ``last`` is a whole token of the text, whose tokens are so separated."""
    return (first == start or data[first - 1] == separator) and (last == stop or data[last] == separator)


@njit(cache=True, nogil=True)
def foreign_in_nats(data, start, stop):
    """Whether a text has a wildcard of another dialect as a token, which is a literal in NATS."""
    for place in range(start, stop):
        byte = data[place]
        if byte > PLUS:
            # As most are, so that it takes one question.
            continue
        end = place + 1
        if byte == HASH or byte == PLUS:
            dots = stands_alone(data, start, stop, place, end, DOT)
            if dots or stands_alone(data, start, stop, place, end, SLASH):
                return True
            continue
        is_double = byte == STAR and end < stop and data[end] == STAR
        if is_double and stands_alone(data, start, stop, place, end + 1, DOT):
            return True
    return False


@njit(cache=True, nogil=True)
def mark_foreign(data, offsets, kinds):
    """Makes the NATS patterns with a wildcard of another dialect INVALID."""
    for index in range(len(offsets) - 1):
        if kinds[index] == TRIE and foreign_in_nats(data, offsets[index], offsets[index + 1]):
            kinds[index] = INVALID
