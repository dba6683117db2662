"""The distinct leaves of many, and other texts of which there are few."""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Places, Words, compiled
from pointsman.subscriptions.bulk.conditions import Leaves

ASTERISK, QUESTION = 42, 63


@compiled
def mix(value: np.uint64, byte: np.uint64) -> np.uint64:
    """The hash of one byte more."""
    return (value ^ byte) * np.uint64(0x100000001B3)


@compiled
def leaf_hash(data: Bytes, leaves: Leaves, leaf: int, bits: Words) -> np.uint64:
    """The hash of a leaf; ``bits`` are its number, if it is one, as bits."""
    value = np.uint64(0xCBF29CE484222325) ^ np.uint64(leaves.kinds[leaf])
    for place in range(leaves.keys[leaf], leaves.keys[leaf] + leaves.key_sizes[leaf]):
        value = mix(value, np.uint64(data[place]))
    value = mix(value, np.uint64(256))
    for place in range(leaves.texts[leaf], leaves.texts[leaf] + leaves.text_sizes[leaf]):
        value = mix(value, np.uint64(data[place]))
    value = mix(value, bits[leaf])
    return value ^ (value >> np.uint64(29))


@compiled
def same(data: Bytes, one: int, other: int, size: int) -> bool:
    """Whether the bytes at two places are the same."""
    for place in range(size):
        if data[one + place] != data[other + place]:
            return False
    return True


@compiled
def number_terms(data: Bytes, leaves: Leaves, count: int, bits: Words, terms: Ids, firsts: Ids) -> int:
    """Gives equal leaves the same number, from 0, and the first leaf of each; and how many there are."""
    size = 16
    while size < 2 * count + 2:
        size *= 2
    slots = np.full(size, -1, np.int32)
    found = 0
    for leaf in range(count):
        slot = np.int64(leaf_hash(data, leaves, leaf, bits) & np.uint64(size - 1))
        while True:
            term = slots[slot]
            if term < 0:
                slots[slot] = found
                firsts[found] = leaf
                terms[leaf] = found
                found += 1
                break
            first = firsts[term]
            if (
                leaves.kinds[first] == leaves.kinds[leaf]
                and leaves.key_sizes[first] == leaves.key_sizes[leaf]
                and leaves.text_sizes[first] == leaves.text_sizes[leaf]
                and bits[first] == bits[leaf]
                and same(data, leaves.keys[first], leaves.keys[leaf], leaves.key_sizes[leaf])
                and same(data, leaves.texts[first], leaves.texts[leaf], leaves.text_sizes[leaf])
            ):
                terms[leaf] = term
                break
            slot = (slot + 1) & (size - 1)
    return found


@compiled
def number_texts(data: Bytes, begins: Places, ends: Places, codes: Ids, firsts: Ids) -> int:
    """Gives equal texts the same code, from 0 (-1: no text), and the first row of each; and how many there are."""
    size = 16
    while size < 2 * begins.size + 2:
        size *= 2
    slots = np.full(size, -1, np.int32)
    found = 0
    for row in range(begins.size):
        begin, length = begins[row], ends[row] - begins[row]
        codes[row] = -1
        if begin < 0 or length < 0:
            continue
        value = np.uint64(0xCBF29CE484222325)
        for place in range(begin, begin + length):
            value = mix(value, np.uint64(data[place]))
        slot = np.int64((value ^ (value >> np.uint64(29))) & np.uint64(size - 1))
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot] = found
                firsts[found] = row
                codes[row] = found
                found += 1
                break
            first = firsts[code]
            if ends[first] - begins[first] == length and same(data, begins[first], begin, length):
                codes[row] = code
                break
            slot = (slot + 1) & (size - 1)
    return found


@compiled
def beginnings(data: Bytes, places: Places, sizes: Places) -> Words:
    """The first eight bytes of texts as numbers, which are in the order of the texts."""
    found = np.zeros(places.size, np.uint64)
    for text in range(places.size):
        value = np.uint64(0)
        for place in range(8):
            byte = data[places[text] + place] if place < sizes[text] else 0
            value = (value << np.uint64(8)) | np.uint64(byte)
        found[text] = value
    return found


@compiled
def leaf_width(data: Bytes, leaves: Leaves, leaf: int) -> int:
    """What ``gates.leaf_width`` says of the leaf, but that characters of several bytes count as several."""
    kind = int(leaves.kinds[leaf])
    any_key = kind & 1
    if kind >= 4:
        return (2 if kind < 6 else 8) + any_key
    wild = 0
    for place in range(leaves.texts[leaf], leaves.texts[leaf] + leaves.text_sizes[leaf]):
        if data[place] == ASTERISK or data[place] == QUESTION:
            wild += 1
    if not wild:
        return (2 if kind >= 2 else 0) + any_key
    literal = int(leaves.text_sizes[leaf]) - wild
    return (4 if literal >= 3 else 6 if literal else 10) + any_key


@compiled
def leaf_widths(data: Bytes, leaves: Leaves, firsts: Ids) -> Ids:
    """The widths of the terms whose first leaves these are."""
    widths = np.zeros(firsts.size, np.int32)
    for term in range(firsts.size):
        widths[term] = leaf_width(data, leaves, firsts[term])
    return widths
