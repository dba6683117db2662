"""Compiled code: texts that were seen before, told from those that are new, a whole column at a time.

Places in texts are numbers without a sign here: compiled code need not see whether they count from the end.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Places, Words, compiled

ONE, TWO, THREE, FOUR, FIVE, SIX, SEVEN, EIGHT = (np.uint64(number) for number in range(1, 9))
HALF = np.uint64(32)
SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)


@compiled
def word_at(data: Bytes, place: np.uint64) -> np.uint64:
    """The eight bytes from a place on as a number. Written like this, it is compiled to one load."""
    return (
        np.uint64(data[place])
        | np.uint64(data[place + ONE]) << np.uint64(8)
        | np.uint64(data[place + TWO]) << np.uint64(16)
        | np.uint64(data[place + THREE]) << np.uint64(24)
        | np.uint64(data[place + FOUR]) << np.uint64(32)
        | np.uint64(data[place + FIVE]) << np.uint64(40)
        | np.uint64(data[place + SIX]) << np.uint64(48)
        | np.uint64(data[place + SEVEN]) << np.uint64(56)
    )


@compiled
def stirred(hashed: np.uint64, word: np.uint64) -> np.uint64:
    """A hash with one more word in it."""
    hashed = (hashed ^ word) * SPREAD
    return hashed ^ (hashed >> HALF)


@compiled
def hash_of(data: Bytes, start: np.uint64, size: np.uint64, seed: np.uint64) -> np.uint64:
    """A 64-bit hash of a text."""
    hashed = stirred(seed, size)
    place = start
    stop = start + size
    while place + EIGHT <= stop:
        hashed = stirred(hashed, word_at(data, place))
        place += EIGHT
    rest = np.uint64(0)
    while place < stop:
        rest = (rest << EIGHT) | np.uint64(data[place])
        place += ONE
    return stirred(stirred(hashed, rest), seed)


@compiled
def is_same(data: Bytes, start: np.uint64, other: Bytes, begin: np.uint64, size: np.uint64) -> bool:
    """Whether two texts of one size are the same."""
    place = np.uint64(0)
    while place + EIGHT <= size:
        if word_at(data, start + place) != word_at(other, begin + place):
            return False
        place += EIGHT
    while place < size:
        if data[start + place] != other[begin + place]:
            return False
        place += ONE
    return True


@compiled
def number_texts(
    data: Bytes,
    offsets: Places,
    present: Flags,
    seed: np.uint64,
    slots: Ids,
    hashes: Words,
    text_offsets: Places,
    text_bytes: Bytes,
    known: int,
    numbers: Ids,
) -> int:
    """Writes the number of each row's text, -1 where it is not present; gives how many texts are known then.

    A text that is not known gets the next number. Where there is no room for one, -1 is given, and what was written
    is of no use. There must be more slots than hashes, a power of two of them; an empty slot is -1.
    """
    mask = np.int64(len(slots) - 1)
    for row in range(len(present)):
        numbers[row] = -1
        if not present[row]:
            continue
        start = np.uint64(offsets[row])
        size = np.uint64(offsets[row + 1]) - start
        hashed = hash_of(data, start, size, seed)
        slot = np.int64(hashed) & mask
        while True:
            number = np.int64(slots[slot])
            if number < 0:
                begin = np.uint64(text_offsets[known])
                if known == len(hashes) or begin + size > np.uint64(len(text_bytes)):
                    return -1
                for byte in range(size):
                    text_bytes[begin + byte] = data[start + byte]
                number = np.int64(known)
                slots[slot] = number
                hashes[number] = hashed
                known += 1
                text_offsets[known] = begin + size
                break
            begin = np.uint64(text_offsets[number])
            if (
                hashes[number] == hashed
                and np.uint64(text_offsets[number + 1]) - begin == size
                and is_same(data, start, text_bytes, begin, size)
            ):
                break
            slot = (slot + 1) & mask
        numbers[row] = number
    return known


@compiled
def place_lists(numbers: Ids, list_offsets: Places, starts: Places) -> None:
    """Writes where the list of each row begins when they stand one after the other; a row without a number has none."""
    place = np.int64(0)
    for row in range(len(numbers)):
        starts[row] = place
        number = numbers[row]
        if number >= 0:
            place += list_offsets[number + 1] - list_offsets[number]
    starts[len(numbers)] = place
