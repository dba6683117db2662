"""Which parts of a text may be anchors of terms: those that pass the sieve are noted.

These functions, and others that run for every text or candidate, take single arrays and not tuples of them: passing a
tuple counts references to all its arrays, which takes longer than most of the work.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.anchor import BEGINNING, ENDING, STRETCH, STRETCHES, anchor_hash, sieve_bits
from pointsman.matching.terms.kernels.compiled import Ids, Number, Words, compiled


@compiled
def passes(sieve: Words, value: np.uint64) -> bool:
    """Whether an anchor may be there; hardly ever true for one that is not."""
    bits = sieve_bits(value)
    return bool(sieve[(value >> np.uint64(20)) & np.uint64(sieve.size - 1)] & bits == bits)


@compiled
def note_beginnings(
    sieve: Words, sizes: Ids, first: int, stop: int, filed: Number, hashes: Words, size: int, values: Words, noted: int
) -> int:
    """Notes the beginnings of a text that may be anchors, of the sizes from first to stop; counts on."""
    while first < stop and sizes[first] <= size:
        values[noted] = anchor_hash(hashes[sizes[first]], filed, BEGINNING)
        noted += passes(sieve, values[noted])
        first += 1
    return noted


@compiled
def note_endings(
    sieve: Words,
    powers: Words,
    sizes: Ids,
    first: int,
    stop: int,
    filed: Number,
    hashes: Words,
    size: int,
    values: Words,
    noted: int,
) -> int:
    """Notes the ends of a text likewise."""
    while first < stop and sizes[first] <= size:
        part = sizes[first]
        values[noted] = anchor_hash(hashes[size] - hashes[size - part] * powers[part], filed, ENDING)
        noted += passes(sieve, values[noted])
        first += 1
    return noted


@compiled
def note_stretches(
    sieve: Words,
    powers: Words,
    number: int,
    filed: Number,
    hashes: Words,
    first: int,
    stop: int,
    values: Words,
    noted: int,
) -> int:
    """Notes the stretches of one size that begin from first to stop in a text; counts on."""
    part = STRETCHES[number]
    power = powers[part]
    for start in range(first, stop):
        value = anchor_hash(hashes[start + part] - hashes[start] * power, filed, STRETCH + number)
        values[noted] = value
        noted += passes(sieve, value)
    return noted
