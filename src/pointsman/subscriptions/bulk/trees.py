"""Whole conditions, read by compiled code: trees of leaves and groups."""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Places, compiled
from pointsman.subscriptions.bulk.conditions import (
    ALL,
    AND,
    ANY,
    INCLUDES,
    KEY,
    LEAF,
    NEVER,
    NOT,
    NUMBER,
    PARTIAL,
    PATTERN,
    SIGNS,
    XOR,
    Read,
    Room,
    name_at,
    read_group,
    read_leaf,
    room_for_leaves,
)
from pointsman.subscriptions.bulk.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    ODD,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    past,
    skip_space,
    text_end,
)
from pointsman.subscriptions.bulk.packing import LONGEST_TREE

PLUS = 43
LONGEST_NUMBER = 20
"""Digits of the number of a leaf."""
_DEEPEST = 64


@compiled
def operation(kind: int, count: int) -> int:
    """The code of what is done with so many entries."""
    return -(4 * count + kind) - 1


@compiled
def read_groups(
    data: Bytes, place: int, end: int, read: Read, first: int, sign: int, code: int, room: Room
) -> tuple[int, int, int, int]:
    """Reads includes and excludes, from behind the bracket: the place behind it, and the next leaf, sign and code."""
    signs, codes, leaves = read.signs, read.codes, read.leaves
    signs[sign] = OPEN_LIST
    signs[sign + 1] = QUOTE
    signs[sign + 2] = PLUS
    signs[sign + 3] = QUOTE
    signs[sign + 4] = COMMA
    sign += 5
    leaf = first
    for group in range(2):
        begin = past(data, place, end, QUOTE)
        stop = text_end(data, begin, end) if begin != ODD else ODD
        name = name_at(data, begin, stop) if stop != ODD else ODD
        place = past(data, stop + 1, end, COLON) if name == INCLUDES + group else ODD
        place = past(data, place, end, OPEN_OBJECT) if place != ODD else ODD
        if place == ODD:
            return ODD, leaf, sign, code
        begin_leaf = leaf
        place, leaf, sign, every = read_group(data, place, end, leaves, leaf, room, signs, sign)
        if place == ODD or (group == 0 and leaf == first):
            return ODD, leaf, sign, code
        if group == 0:
            for each in range(begin_leaf, leaf):
                codes[code] = each
                code += 1
            codes[code] = operation(ALL if every else ANY, leaf - begin_leaf)
            code += 1
            signs[sign] = COMMA
            sign += 1
        place = skip_space(data, place, end)
        if place >= end:
            return ODD, leaf, sign, code
        if group == 0 and data[place] == CLOSE_OBJECT:
            signs[sign] = OPEN_LIST
            signs[sign + 1] = 48
            signs[sign + 2] = CLOSE_LIST
            sign += 3
            break
        if data[place] != (COMMA if group == 0 else CLOSE_OBJECT):
            return ODD, leaf, sign, code
        if group == 0:
            place += 1
    signs[sign] = CLOSE_LIST
    return place + 1, leaf, sign + 1, code


@compiled
def read_condition(
    data: Bytes, place: int, end: int, read: Read, leaf: int, sign: int, code: int, room: Room, frames: Places
) -> tuple[int, int, int, int, bool]:
    """Reads a condition: the place behind it (``ODD`` if it is odd), the next leaf, sign and code, and if it has gates.

    ``frames`` has four numbers for each condition that is open: its kind, how many are read inside, whether one of them
    has gates, and whether all have.
    """
    first = leaf
    depth = 0
    while True:
        place = past(data, place, end, OPEN_OBJECT)
        begin = past(data, place, end, QUOTE) if place != ODD else ODD
        stop = text_end(data, begin, end) if begin != ODD else ODD
        name = name_at(data, begin, stop) if stop != ODD else ODD
        if name == ODD or depth + 1 > room.depth or leaf - first >= room.leaves:
            return ODD, leaf, sign, code, False
        has_gates = True
        if name <= NOT:
            place = past(data, stop + 1, end, COLON)
            if place != ODD and name != NOT:
                place = past(data, place, end, OPEN_LIST)
            if place == ODD:
                return ODD, leaf, sign, code, False
            read.signs[sign] = OPEN_LIST
            read.signs[sign + 1] = QUOTE
            read.signs[sign + 2] = SIGNS[name]
            read.signs[sign + 3] = QUOTE
            read.signs[sign + 4] = COMMA
            sign += 5
            frames[4 * depth] = name
            frames[4 * depth + 1] = 0
            frames[4 * depth + 2] = 0
            frames[4 * depth + 3] = 1
            depth += 1
            continue
        if name == KEY or name == PATTERN or name == PARTIAL or name == NUMBER:
            place = read_leaf(data, place, end, read.leaves, leaf, room)
            read.signs[sign] = LEAF + leaf
            read.codes[code] = leaf
            leaf += 1
            sign += 1
            code += 1
        elif name == INCLUDES:
            place, leaf, sign, code = read_groups(data, place, end, read, leaf, sign, code, room)
        else:
            place = ODD
        # What is complete may complete what it stands in.
        while place != ODD and depth:
            frame = 4 * (depth - 1)
            kind = frames[frame]
            frames[frame + 1] += 1
            frames[frame + 2] |= has_gates
            frames[frame + 3] &= has_gates
            place = skip_space(data, place, end)
            if kind != NOT:
                if place < end and data[place] == COMMA:
                    place += 1
                    read.signs[sign] = COMMA
                    sign += 1
                    break
                place = past(data, place, end, CLOSE_LIST)
            place = past(data, place, end, CLOSE_OBJECT) if place != ODD else ODD
            count = frames[frame + 1]
            if kind == XOR and count < 2:
                place = ODD
            has_gates = kind != NOT and (frames[frame + 2] if kind == AND else frames[frame + 3]) != 0
            read.signs[sign] = CLOSE_LIST
            read.codes[code] = operation(NEVER if kind == NOT else ALL if kind == AND else ANY, count)
            sign += 1
            code += 1
            depth -= 1
        if place == ODD or leaf - first > room.leaves:
            return ODD, leaf, sign, code, False
        if depth == 0:
            return place, leaf, sign, code, has_gates


@compiled
def read_conditions(
    data: Bytes, begins: Places, ends: Places, needs_gates: Flags, read: Read, room: Room, is_read: Flags
) -> None:
    """Reads conditions, where they begin at 0 or later, and unsets ``is_read`` for those that go the long way."""
    leaf = sign = code = 0
    frames = np.zeros(4 * _DEEPEST, np.int64)
    for row in range(begins.size):
        if is_read[row] and begins[row] >= 0:
            place, leaf_after, sign_after, code_after, has_gates = read_condition(
                data, begins[row], ends[row], read, leaf, sign, code, room, frames
            )
            longest = sign_after - sign + LONGEST_NUMBER * (leaf_after - leaf)
            if (
                place == ODD
                or skip_space(data, place, ends[row]) != ends[row]
                or (needs_gates[row] and not has_gates)
                or longest > LONGEST_TREE
            ):
                is_read[row] = False
            else:
                leaf, sign, code = leaf_after, sign_after, code_after
        read.leaf_offsets[row + 1] = leaf
        read.sign_offsets[row + 1] = sign
        read.code_offsets[row + 1] = code


def room_for(begins: Places, ends: Places) -> Read:
    """What conditions in that much data can be read into."""
    size = int((ends - begins)[begins >= 0].sum())
    count = begins.size
    # A leaf is written with 14 bytes at the least, and what stands around leaves with more bytes than signs or codes.
    # One condition that is given up may have written behind the others.
    leaves = size // 14 + 2
    offsets = [np.zeros(count + 1, np.int64) for _ in range(3)]
    return Read(
        room_for_leaves(leaves),
        offsets[0],
        np.empty(size + 16 * count + 16, np.int32),
        offsets[1],
        np.empty(2 * leaves + size // 8 + 16, np.int32),
        offsets[2],
    )
