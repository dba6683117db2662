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
def same(data: Bytes, one: int, others: Bytes, other: int, size: int) -> bool:
    """Whether the bytes at two places are the same."""
    for place in range(size):
        if data[one + place] != others[other + place]:
            return False
    return True


@compiled
def same_leaf(data: Bytes, leaves: Leaves, leaf: int, others: Bytes, known: Leaves, term: int) -> bool:
    """Whether a leaf and a term are equal, but for their numbers."""
    return (
        known.kinds[term] == leaves.kinds[leaf]
        and known.key_sizes[term] == leaves.key_sizes[leaf]
        and known.text_sizes[term] == leaves.text_sizes[leaf]
        and same(data, leaves.keys[leaf], others, known.keys[term], leaves.key_sizes[leaf])
        and same(data, leaves.texts[leaf], others, known.texts[term], leaves.text_sizes[leaf])
    )


@compiled
def copy_text(data: Bytes, begin: int, size: int, others: Bytes, place: int) -> int:
    """Copies a text to a place, and gives the place behind it."""
    for each in range(size):
        others[place + each] = data[begin + each]
    return place + size


@compiled
def number_terms(
    data: Bytes,
    leaves: Leaves,
    count: int,
    bits: Words,
    others: Bytes,
    known: Leaves,
    known_bits: Words,
    found: int,
    place: int,
    slots: Ids,
    hashes: Words,
    terms: Ids,
) -> tuple[int, int]:
    """Gives equal leaves the same term: one of those that are found already, whose texts stand in ``others``, or a new
    one. How many there are then, and how far their texts go.
    """
    last = slots.size - 1
    for leaf in range(count):
        value = leaf_hash(data, leaves, leaf, bits)
        slot = np.int64(value & np.uint64(last))
        while True:
            term = slots[slot]
            if term < 0:
                slots[slot] = found
                hashes[found] = value
                terms[leaf] = found
                known.kinds[found] = leaves.kinds[leaf]
                known.keys[found] = place
                known.key_sizes[found] = leaves.key_sizes[leaf]
                place = copy_text(data, leaves.keys[leaf], leaves.key_sizes[leaf], others, place)
                known.texts[found] = place
                known.text_sizes[found] = leaves.text_sizes[leaf]
                place = copy_text(data, leaves.texts[leaf], leaves.text_sizes[leaf], others, place)
                known.numbers[found] = leaves.numbers[leaf]
                found += 1
                break
            if (
                hashes[term] == value
                and known_bits[term] == bits[leaf]
                and same_leaf(data, leaves, leaf, others, known, term)
            ):
                terms[leaf] = term
                break
            slot = (slot + 1) & last
    return found, place


@compiled
def fill_slots(hashes: Words, count: int, slots: Ids) -> None:
    """Enters the terms of these hashes into empty slots."""
    last = slots.size - 1
    for term in range(count):
        slot = np.int64(hashes[term] & np.uint64(last))
        while slots[slot] >= 0:
            slot = (slot + 1) & last
        slots[slot] = term


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
            if ends[first] - begins[first] == length and same(data, begins[first], data, begin, length):
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
def leaf_widths(data: Bytes, leaves: Leaves, first: int, stop: int, widths: Ids) -> None:
    """Writes the widths of the terms from first to stop."""
    for term in range(first, stop):
        widths[term] = leaf_width(data, leaves, term)
