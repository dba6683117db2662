"""Who uses which matchers, by which gates each is found, and the trees, when the numbers of all leaves are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Places, compiled
from pointsman.subscriptions.bulk.conditions import ALL, LEAF, NEVER, Read

GATE = 1 << 20
MATCHER_BITS = 21
"""As ``statements.USES_ADD`` takes them."""
NO_WEIGHT = 1 << 60


class Rows(NamedTuple):
    """The subscriptions of a piece."""

    plain: Flags
    enabled: Flags
    places: Places
    """How far the number of each is from the first."""
    patterns: Ids
    """The distinct pattern of each; -1 for none."""
    pattern_numbers: Places
    pattern_widths: Ids
    pattern_uses: Places
    """How often each distinct pattern is used, which is counted on."""


class Found(NamedTuple):
    """What conditions come to: the entries of ``wildcard_use``, and the trees of all of them after each other."""

    uses: Places
    trees: Bytes
    tree_offsets: Places


@compiled
def find_gates(codes: Ids, terms: Ids, uses: Places, widths: Ids, gates: Ids, entries: Places) -> tuple[int, int]:
    """Runs a program: how many gates there are at the front of ``gates``, and their weight; ``NO_WEIGHT`` for none.

    ``entries`` has two numbers for each entry: where its gates end, and their weight.
    """
    depth = 0
    for code in codes:
        if code >= 0:
            begin = entries[2 * depth - 2] if depth else 0
            term = terms[code]
            gates[begin] = term
            entries[2 * depth] = begin + 1
            entries[2 * depth + 1] = (1 + uses[term]) << widths[term]
            depth += 1
            continue
        kind = (-code - 1) & 3
        first = depth - ((-code - 1) >> 2)
        begin = entries[2 * first - 2] if first else 0
        if kind == NEVER:
            entries[2 * first] = begin
            entries[2 * first + 1] = NO_WEIGHT
        elif kind == ALL:
            best = first
            for each in range(first, depth):
                if entries[2 * each + 1] < entries[2 * best + 1]:
                    best = each
            low = begin if best == first else entries[2 * best - 2]
            count = entries[2 * best] - low
            weight = entries[2 * best + 1]
            for place in range(count):
                gates[begin + place] = gates[low + place]
            entries[2 * first] = begin + count
            entries[2 * first + 1] = weight
        else:
            weight = 0
            for each in range(first, depth):
                weight = NO_WEIGHT if entries[2 * each + 1] == NO_WEIGHT else weight + entries[2 * each + 1]
                if weight >= NO_WEIGHT:
                    weight = NO_WEIGHT
                    break
            entries[2 * first] = begin if weight == NO_WEIGHT else entries[2 * depth - 2]
            entries[2 * first + 1] = weight
        depth = first + 1
    return entries[0], entries[1]


@compiled
def is_among(terms: Ids, first: int, stop: int, term: int) -> bool:
    """Whether a term is one of those from first to stop; they are few."""
    for place in range(first, stop):
        if terms[place] == term:
            return True
    return False


@compiled
def write_tree(signs: Ids, terms: Ids, numbers: Places, trees: Bytes, place: int) -> int:
    """Writes the text of a tree, and gives the place behind it."""
    for sign in signs:
        if sign < LEAF:
            trees[place] = sign
            place += 1
            continue
        number = numbers[terms[sign - LEAF]]
        size = 1
        power = 10
        while number >= power:
            size += 1
            power *= 10
        for digit in range(size - 1, -1, -1):
            trees[place + digit] = 48 + number % 10
            number //= 10
        place += size
    return place


@compiled
def find_uses(
    read: Read,
    terms: Ids,
    numbers: Places,
    uses: Places,
    widths: Ids,
    rows: Rows,
    found: Found,
) -> int:
    """Fills in ``found``, for the rows that are plain, and gives how many entries there are.

    ``numbers`` are those of the terms and ``uses`` how often each is used, which is counted on.
    """
    count = tree = 0
    longest = 0
    for row in range(rows.plain.size):
        longest = max(longest, read.code_offsets[row + 1] - read.code_offsets[row])
    gates = np.zeros(longest + 1, np.int32)
    entries = np.zeros(2 * longest + 2, np.int64)
    for row in range(rows.plain.size):
        if rows.plain[row]:
            pattern = rows.patterns[row]
            pattern_weight = NO_WEIGHT
            if pattern >= 0:
                pattern_weight = (1 + rows.pattern_uses[pattern]) << rows.pattern_widths[pattern]
                rows.pattern_uses[pattern] += 1
            codes = read.codes[read.code_offsets[row] : read.code_offsets[row + 1]]
            weight = NO_WEIGHT
            gate_count = 0
            if codes.size:
                gate_count, weight = find_gates(codes, terms, uses, widths, gates, entries)
                if not rows.enabled[row] or weight >= NO_WEIGHT or weight > pattern_weight:
                    gate_count = 0
            if rows.enabled[row] and pattern >= 0 and pattern_weight < weight:
                found.uses[count] = (-rows.pattern_numbers[pattern] << MATCHER_BITS) | GATE | rows.places[row]
                count += 1
            first = read.leaf_offsets[row]
            for leaf in range(first, read.leaf_offsets[row + 1]):
                term = terms[leaf]
                if not is_among(terms, first, leaf, term):
                    uses[term] += 1
                    gate_bit = GATE if is_among(gates, 0, gate_count, term) else 0
                    found.uses[count] = (numbers[term] << MATCHER_BITS) | gate_bit | rows.places[row]
                    count += 1
            signs = read.signs[read.sign_offsets[row] : read.sign_offsets[row + 1]]
            tree = write_tree(signs, terms, numbers, found.trees, tree)
        found.tree_offsets[row + 1] = tree
    return count
