"""Hashes of texts and of their parts, and the distinct ones among many texts.

A text is hashed as a polynomial over its bytes, so that the hashes of all its prefixes, taken in one pass, give the
hash of any part: ``H(begin, end) = P[end] - P[begin] * BASE ** (end - begin)``. Hashes only lead to candidates; whoever
uses them compares the bytes.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Places, Words, compiled

BASE = np.uint64(0x9E3779B97F4A7C15)
SALT = np.uint64(0xD6E8FEB86659FD93)
MIXER = np.uint64(0xFF51AFD7ED558CCD)
ONE = np.uint64(1)


@compiled
def mixed(value: np.uint64) -> np.uint64:
    """The value with its bits spread, so that any of them can choose a slot."""
    value *= MIXER
    return value ^ (value >> np.uint64(32))


@compiled
def hash_prefixes(data: Bytes, begin: int, end: int, hashes: Words) -> None:
    """Writes the hash of each prefix of a text, the empty one first."""
    value = np.uint64(0)
    hashes[0] = value
    for place in range(begin, end):
        value = value * BASE + np.uint64(data[place]) + ONE
        hashes[place - begin + 1] = value


@compiled
def hash_text(data: Bytes, begin: int, end: int, base: np.uint64) -> np.uint64:
    """The hash of a whole text; four bytes at a time, since a multiplication waits for the one before it."""
    square = base * base
    cube = square * base
    fourth = square * square
    value = np.uint64(0)
    place = begin
    while place + 4 <= end:
        first = (np.uint64(data[place]) + ONE) * cube + (np.uint64(data[place + 1]) + ONE) * square
        second = (np.uint64(data[place + 2]) + ONE) * base + np.uint64(data[place + 3]) + ONE
        value = value * fourth + first + second
        place += 4
    while place < end:
        value = value * base + np.uint64(data[place]) + ONE
        place += 1
    return value


@compiled
def same_text(data: Bytes, begin: int, other: int, size: int) -> bool:
    """Whether two stretches of the data hold the same bytes."""
    step = 0
    while step < size and data[begin + step] == data[other + step]:
        step += 1
    return step == size


@compiled
def powers(count: int) -> Words:
    """``BASE ** n`` for n below the count."""
    result = np.empty(count, np.uint64)
    value = ONE
    for exponent in range(count):
        result[exponent] = value
        value *= BASE
    return result


@compiled
def number_distinct(
    labels: Ids, begins: Places, ends: Places, data: Bytes, base: np.uint64, numbers: Ids, firsts: Ids
) -> int:
    """Numbers the distinct (label, text) in the order they come, and counts them.

    Writes the number of each item, and for each number the first item that has it. Items whose label is negative are
    left out and get -1. The base, an odd number, decides nothing but the time: whoever knows it can make texts that
    collide.
    """
    capacity = 16
    while capacity < 2 * labels.size:
        capacity *= 2
    mask = np.uint64(capacity - 1)
    upper = np.uint64(0xFFFFFFFF00000000)
    # A slot has the upper half of the hash, and the number from 1.
    slots = np.zeros(capacity, np.uint64)
    count = 0
    for item in range(labels.size):
        if labels[item] < 0:
            numbers[item] = -1
            continue
        begin = begins[item]
        size = ends[item] - begin
        value = mixed(hash_text(data, begin, begin + size, base) + np.uint64(labels[item]) * SALT)
        slot = value & mask
        while True:
            entry = slots[slot]
            if entry == np.uint64(0):
                slots[slot] = (value & upper) | np.uint64(count + 1)
                numbers[item] = count
                firsts[count] = item
                count += 1
                break
            if (entry ^ value) & upper == np.uint64(0):
                number = np.int64(entry & ~upper) - 1
                first = firsts[number]
                if (
                    labels[first] == labels[item]
                    and ends[first] - begins[first] == size
                    and same_text(data, begins[first], begin, size)
                ):
                    numbers[item] = number
                    break
            slot = (slot + ONE) & mask
    return count
