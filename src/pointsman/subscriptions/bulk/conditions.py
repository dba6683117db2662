"""Conditions in JSON, read by compiled code: their leaves, the tree that is stored, and what their gates come of.

Of each condition come

- its leaves: where their keys and patterns stand in the data;
- its tree as ``trees.py`` writes it, as signs, with the place of a leaf (plus ``LEAF``) where its number is to stand;
- a program for its gates: a leaf, or a negative code for what is done with the last entries (see ``gates.py``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Places, compiled
from pointsman.subscriptions.bulk.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    FALSE,
    NULL,
    ODD,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    TRUE,
    constant,
    constant_end,
    equals,
    number_at,
    number_end,
    past,
    skip_space,
    text_end,
)
from pointsman.subscriptions.leaf_rows import FORMS

LEAF = 256
"""Signs from here on are leaves."""
ALL, ANY, NEVER = 0, 1, 2
"""What a program does: takes the best of so many entries, joins them, or has none."""
MOST_LEAVES = 64
"""Of a condition; one of more goes the long way."""

_NAMES = ("and", "or", "xor", "not", "key", "pattern", "partial", "number", "includes", "excludes", "all", "matchers")
AND, OR, XOR, NOT, KEY, PATTERN, PARTIAL, NUMBER, INCLUDES, EXCLUDES, EVERY, MATCHERS = range(len(_NAMES))
_NAME_BYTES = np.frombuffer("".join(_NAMES).encode(), np.uint8)
_NAME_PLACES = np.cumsum([0, *map(len, _NAMES)])
SIGNS = np.frombuffer(b"&|^!", np.uint8)
_OPERATORS = FORMS[2:]
_OPERATOR_BYTES = np.frombuffer("".join(_OPERATORS).encode(), np.uint8)
_OPERATOR_PLACES = np.cumsum([0, *map(len, _OPERATORS)])

Floats = npt.NDArray[np.float64]


class Leaves(NamedTuple):
    """The leaves of all conditions: their kinds as rows have them, and where their keys and patterns stand."""

    kinds: Ids
    keys: Places
    key_sizes: Places
    texts: Places
    text_sizes: Places
    numbers: Floats


def room_for_leaves(count: int) -> Leaves:
    """Leaves to be read."""
    places = [np.empty(count, np.int64) for _ in range(4)]
    return Leaves(np.empty(count, np.int32), places[0], places[1], places[2], places[3], np.empty(count, np.float64))


class Read(NamedTuple):
    """What was read. Those of condition ``n`` are from ``…_offsets[n]`` to ``…_offsets[n + 1]``."""

    leaves: Leaves
    leaf_offsets: Places
    signs: Ids
    sign_offsets: Places
    codes: Ids
    code_offsets: Places
    """The programs."""


class Room(NamedTuple):
    """How large conditions may be, beyond which they go the long way."""

    leaves: int
    depth: int
    characters: int
    wild_bytes: int


@compiled
def name_at(data: Bytes, begin: int, end: int) -> int:
    """Which of the names stands there; ``ODD`` if none does."""
    for name in range(_NAME_PLACES.size - 1):
        if equals(data, begin, end, _NAME_BYTES, _NAME_PLACES[name], _NAME_PLACES[name + 1]):
            return name
    return ODD


@compiled
def operator_at(data: Bytes, begin: int, end: int) -> int:
    """The kind of the comparison whose operator stands there; ``ODD`` if none does."""
    for operator in range(_OPERATOR_PLACES.size - 1):
        if equals(data, begin, end, _OPERATOR_BYTES, _OPERATOR_PLACES[operator], _OPERATOR_PLACES[operator + 1]):
            return 2 * (operator + 2)
    return ODD


@compiled
def read_number(data: Bytes, place: int, end: int, leaves: Leaves, leaf: int) -> int:
    """Reads ``{operator: number}`` into a leaf, and gives the place behind it; else ``ODD``."""
    place = past(data, place, end, OPEN_OBJECT)
    place = past(data, place, end, QUOTE) if place != ODD else ODD
    stop = text_end(data, place, end) if place != ODD else ODD
    if stop == ODD:
        return ODD
    leaves.kinds[leaf] = operator_at(data, place, stop)
    place = past(data, stop + 1, end, COLON)
    if place == ODD or leaves.kinds[leaf] == ODD:
        return ODD
    place = skip_space(data, place, end)
    stop = number_end(data, place, end)
    if stop == ODD:
        return ODD
    # A zero has one form, so that it is one matcher.
    leaves.numbers[leaf] = number_at(data, place, stop) + 0.0
    return past(data, stop, end, CLOSE_OBJECT)


@compiled
def read_leaf(data: Bytes, place: int, end: int, leaves: Leaves, leaf: int, room: Room) -> int:
    """Reads a leaf, from behind the bracket that opens it, and gives the place behind it; else ``ODD``."""
    leaves.kinds[leaf] = 0
    leaves.keys[leaf] = ODD
    leaves.key_sizes[leaf] = 0
    leaves.texts[leaf] = ODD
    leaves.text_sizes[leaf] = 0
    leaves.numbers[leaf] = 0.0
    seen = partial = 0
    while True:
        begin = past(data, place, end, QUOTE)
        stop = text_end(data, begin, end) if begin != ODD else ODD
        name = name_at(data, begin, stop) if stop != ODD else ODD
        place = past(data, stop + 1, end, COLON) if name != ODD else ODD
        if place == ODD or seen & (1 << name):
            return ODD
        seen |= 1 << name
        place = skip_space(data, place, end)
        if name == NUMBER:
            place = read_number(data, place, end, leaves, leaf)
        elif name == PARTIAL:
            found = constant(data, place, end)
            if found != TRUE and found != FALSE:
                return ODD
            partial = 1 if found == TRUE else 0
            place = constant_end(place, found)
        elif name == KEY and constant(data, place, end) == NULL:
            place += 4
        elif name == KEY or name == PATTERN:
            begin = past(data, place, end, QUOTE)
            stop = text_end(data, begin, end) if begin != ODD else ODD
            if stop == ODD or stop - begin > room.characters:
                return ODD
            if name == KEY:
                leaves.keys[leaf] = begin
                leaves.key_sizes[leaf] = stop - begin
            else:
                leaves.texts[leaf] = begin
                leaves.text_sizes[leaf] = stop - begin
            place = stop + 1
        else:
            return ODD
        if place == ODD:
            return ODD
        place = skip_space(data, place, end)
        if place >= end or (data[place] != COMMA and data[place] != CLOSE_OBJECT):
            return ODD
        place += 1
        if data[place - 1] == CLOSE_OBJECT:
            break
    is_number = (seen >> NUMBER) & 1
    if is_number == (seen >> PATTERN) & 1 or (is_number and seen & (1 << PARTIAL)):
        return ODD
    if not is_number:
        leaves.kinds[leaf] = 2 * partial
        if leaves.text_sizes[leaf] > room.wild_bytes:
            return ODD
    if leaves.keys[leaf] == ODD:
        leaves.kinds[leaf] += 1
    return place


@compiled
def read_group(
    data: Bytes, place: int, end: int, leaves: Leaves, first: int, room: Room, signs: Ids, sign: int
) -> tuple[int, int, int, int]:
    """Reads a group, from behind the bracket that opens it: the place behind it, the next leaf and sign, and if all."""
    every = 0
    seen = 0
    leaf = first
    while True:
        begin = past(data, place, end, QUOTE)
        stop = text_end(data, begin, end) if begin != ODD else ODD
        name = name_at(data, begin, stop) if stop != ODD else ODD
        place = past(data, stop + 1, end, COLON) if name != ODD else ODD
        if place == ODD or seen & (1 << name):
            return ODD, leaf, sign, every
        seen |= 1 << name
        place = skip_space(data, place, end)
        if name == EVERY:
            found = constant(data, place, end)
            if found != TRUE and found != FALSE:
                return ODD, leaf, sign, every
            every = 1 if found == TRUE else 0
            place = constant_end(place, found)
        elif name == MATCHERS:
            place = past(data, place, end, OPEN_LIST)
            following = past(data, place, end, CLOSE_LIST) if place != ODD else ODD
            while place != ODD and following == ODD:
                place = past(data, place, end, OPEN_OBJECT)
                if place == ODD or leaf - first == room.leaves:
                    return ODD, leaf, sign, every
                place = read_leaf(data, place, end, leaves, leaf, room)
                if place == ODD or leaves.kinds[leaf] >= 4:
                    return ODD, leaf, sign, every
                leaf += 1
                following = past(data, place, end, CLOSE_LIST)
                if following == ODD:
                    place = past(data, place, end, COMMA)
            place = following if place != ODD else ODD
        else:
            return ODD, leaf, sign, every
        place = skip_space(data, place, end) if place != ODD else ODD
        if place == ODD or place >= end or (data[place] != COMMA and data[place] != CLOSE_OBJECT):
            return ODD, leaf, sign, every
        place += 1
        if data[place - 1] == CLOSE_OBJECT:
            break
    if not seen & (1 << MATCHERS):
        return ODD, leaf, sign, every
    signs[sign] = OPEN_LIST
    signs[sign + 1] = 48 + every
    sign += 2
    for each in range(first, leaf):
        signs[sign] = COMMA
        signs[sign + 1] = LEAF + each
        sign += 2
    signs[sign] = CLOSE_LIST
    return place, leaf, sign + 1, every
