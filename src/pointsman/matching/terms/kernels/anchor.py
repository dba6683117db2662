"""Under which part of itself each term is filed, and the table that leads from such a part to its terms.

A part has a kind: the whole of a term without wildcards; its literal beginning or end, cut to a round size; or a
stretch of 1, 2, 3, 4, 6 or 8 bytes from a literal. Of the parts a term offers, the one that the fewest terms offer is
its anchor.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Number, Places, Words, compiled
from pointsman.matching.terms.kernels.glob import QUESTION, STAR, is_inside
from pointsman.matching.terms.kernels.text import BASE, ONE, SALT, hash_prefixes, mixed

WHOLE, BEGINNING, ENDING, BARE, STRETCH = 0, 1, 2, 3, 4
"""Kinds of anchors; ``STRETCH + n`` is a stretch of ``STRETCHES[n]`` bytes, ``BARE`` is no anchor at all."""
STRETCHES = (1, 2, 3, 4, 6, 8)
KINDS = STRETCH + len(STRETCHES)
LONGEST = 1024
"""Bytes that a pattern with wildcards may have."""
MOST_OFFERS = 1 << 22
"""Counters of how many terms offer a part; parts that share one by chance are taken for more frequent than they are."""


@compiled
def anchor_hash(part: np.uint64, space: Number, kind: int) -> np.uint64:
    """The hash of a part, as one of its kind, in its space."""
    return mixed(part + np.uint64(space * KINDS + kind) * SALT)


@compiled
def largest_stretch(size: int) -> int:
    """Which of the stretches is the largest that fits into so many bytes."""
    best = 0
    for number in range(len(STRETCHES)):
        if STRETCHES[number] <= size:
            best = number
    return best


@compiled
def round_size(size: int) -> int:
    """The largest size of beginnings and ends that fits: up to 8, then 12, 16, 24, 32, 48 and so on."""
    if size <= 8:
        return size
    power = 8
    while 2 * power <= size:
        power *= 2
    return power + power // 2 if power + power // 2 <= size else power


@compiled
def offered(
    data: Bytes, begin: int, end: int, space: int, prefixes: Words, power: Words, hashes: Words, kinds: Ids, sizes: Ids
) -> int:
    """Writes hash, kind and bytes of the parts that a pattern with wildcards offers, and counts them."""
    hash_prefixes(data, begin, end, prefixes)
    count = 0
    place = begin
    while place < end:
        if data[place] == STAR or data[place] == QUESTION:
            place += 1
            continue
        stop = place
        while stop < end and data[stop] != STAR and data[stop] != QUESTION:
            stop += 1
        first, last = place - begin, stop - begin
        at_edge = place == begin or stop == end
        size = round_size(last - first)
        if at_edge:
            kind = BEGINNING if place == begin else ENDING
            start = first if place == begin else last - size
            hashes[count] = anchor_hash(prefixes[start + size] - prefixes[start] * power[size], space, kind)
            kinds[count] = kind
            sizes[count] = size
            count += 1
        if not at_edge or size < last - first:
            number = largest_stretch(last - first)
            size = STRETCHES[number]
            for start in range(first, last - size + 1):
                part = prefixes[start + size] - prefixes[start] * power[size]
                hashes[count] = anchor_hash(part, space, STRETCH + number)
                kinds[count] = STRETCH + number
                sizes[count] = size
                count += 1
        place = stop
    return count


@compiled
def choose_anchors(
    data: Bytes, offsets: Places, spaces: Ids, power: Words, anchors: Words, kinds: Ids, sizes: Ids
) -> int:
    """Writes hash, kind and bytes of each term's anchor; of a bare term the characters it needs at least.

    Returns -1, or the number of a term that is longer than it may be.
    """
    counters = 1024
    while counters < min(16 * spaces.size, MOST_OFFERS):
        counters *= 2
    offers = np.zeros(counters, np.int32)
    counter_mask = np.uint64(counters - 1)
    prefixes = np.empty(LONGEST + 1, np.uint64)
    hashes = np.empty(LONGEST, np.uint64)
    part_kinds = np.empty(LONGEST, np.int32)
    part_sizes = np.empty(LONGEST, np.int32)
    for term in range(spaces.size):
        begin, end = offsets[term], offsets[term + 1]
        literal = True
        for place in range(begin, end):
            literal &= data[place] != STAR and data[place] != QUESTION
        kinds[term] = WHOLE if literal else BARE
        if literal:
            value = np.uint64(0)
            for place in range(begin, end):
                value = value * BASE + np.uint64(data[place]) + ONE
            anchors[term] = anchor_hash(value, spaces[term], WHOLE)
            sizes[term] = min(end - begin, LONGEST)
            continue
        if end - begin > LONGEST:
            return term
        count = offered(data, begin, end, spaces[term], prefixes, power, hashes, part_kinds, part_sizes)
        for part in range(count):
            offers[hashes[part] & counter_mask] += 1
    for term in range(spaces.size):
        if kinds[term] == WHOLE:
            continue
        begin, end = offsets[term], offsets[term + 1]
        count = offered(data, begin, end, spaces[term], prefixes, power, hashes, part_kinds, part_sizes)
        best = -1
        for part in range(count):
            # A short part is frequent in texts, however few patterns offer it.
            score = offers[hashes[part] & counter_mask] + 4000 // (part_sizes[part] ** 3)
            if best < 0 or score < best:
                best = score
                anchors[term] = hashes[part]
                kinds[term] = part_kinds[part]
                sizes[term] = part_sizes[part]
        if best < 0:
            anchors[term] = np.uint64(0)
            sizes[term] = characters_needed(data, begin, end)
    return -1


@compiled
def characters_needed(data: Bytes, begin: int, end: int) -> int:
    """How many characters a bare pattern needs at least: its question marks."""
    count = 0
    for place in range(begin, end):
        if data[place] == QUESTION:
            count += 1
    return count


@compiled
def count_characters(data: Bytes, begin: int, end: int) -> int:
    """How many characters a text has."""
    count = 0
    for place in range(begin, end):
        if not is_inside(data[place]):
            count += 1
    return count


@compiled
def fill_slots(anchors: Words, starts: Places, slots: Words) -> None:
    """Enters the first term under each anchor (from 1) with the upper half of the anchor's hash."""
    mask = np.uint64(slots.size - 1)
    for start in starts:
        value = anchors[start]
        slot = value & mask
        while slots[slot] != np.uint64(0):
            slot = (slot + ONE) & mask
        slots[slot] = (value >> np.uint64(32)) << np.uint64(32) | np.uint64(start + 1)


@compiled
def sieve_bits(value: np.uint64) -> np.uint64:
    """The two bits that an anchor sets in its word of the sieve."""
    return (ONE << ((value >> np.uint64(52)) & np.uint64(63))) | (ONE << (value >> np.uint64(58)))


@compiled
def fill_sieve(anchors: Words, kinds: Ids, sieve: Words) -> None:
    """Marks the anchors that are looked up often and seldom found: all but whole terms."""
    mask = np.uint64(sieve.size - 1)
    for term in range(anchors.size):
        if kinds[term] != WHOLE:
            sieve[(anchors[term] >> np.uint64(20)) & mask] |= sieve_bits(anchors[term])


@compiled
def copy_texts(data: Bytes, begins: Places, order: Places, offsets: Places, copied: Bytes) -> None:
    """Writes texts one after the other in the given order, to where the offsets say."""
    for number in range(order.size):
        source = begins[order[number]]
        for place in range(offsets[number], offsets[number + 1]):
            copied[place] = data[source]
            source += 1
