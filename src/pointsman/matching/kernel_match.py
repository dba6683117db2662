"""Compiled code: from a column of subjects to the lists of patterns that match each.

A block of subjects is walked through the trie level by level, all of them together: the look-ups of one level do not
wait for each other, so that the memory can serve many at once. A finding is a row and a piece of the array of pattern
numbers; the numbers themselves are copied by whoever wants them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pointsman.matching.kernel_build import (
    BYTE,
    EMPTY,
    FIRST_TOKEN,
    HALF,
    HAS_LITERAL,
    HAS_MANY,
    HAS_ONE,
    HAS_TAIL,
    HAS_TERMINAL,
    IS_MANY,
    LOW,
    MANY_TOKEN,
    ONE_TOKEN,
    PRIME,
    edge_place,
    find_token,
    grown,
    mixed,
)
from pointsman.matching.kernel_text import DOLLAR, MQTT, NATS, is_subject

BLOCK = 512


@njit(cache=True, nogil=True, inline="always")
def follow(edges, mask, node, token):
    """The word that the edge leads to, or EMPTY."""
    place = edge_place(node, token, mask)
    key = (np.uint64(node) << HALF) | np.uint64(token)
    while True:
        found = edges[2 * place]
        if found == key:
            return edges[2 * place + 1]
        if found == EMPTY:
            return EMPTY
        place = (place + 1) & np.int64(mask)


@njit(cache=True, nogil=True, inline="always")
def push(rows, words, count, row, word):
    """Adds a node to those of a row unless it is there; gives the new count. The nodes of a row stand together."""
    place = count - 1
    while place >= 0 and rows[place] == row:
        if words[place] == word:
            return count
        place -= 1
    rows[count] = row
    words[count] = word
    return count + 1


@njit(cache=True, nogil=True)
def read_subjects(
    data, offsets, present, dialect, separator, seed, vocabulary, width, tokens, token_counts, dollar, valid
):
    """The tokens of a block of subjects as numbers, -1 for those that no pattern has; and which rows are subjects."""
    slots, token_offsets, token_words, token_bytes = vocabulary
    for row in range(len(present)):
        start, stop = offsets[row], offsets[row + 1]
        valid[row] = present[row] and is_subject(data, start, stop, dialect)
        token_counts[row] = 0
        if not valid[row] or start == stop:
            continue
        dollar[row] = dialect == MQTT and data[start] == DOLLAR
        base = row * width
        total = 0
        position = start
        while position <= stop:
            hashed = seed
            word = np.uint64(0)
            end = position
            while end < stop and data[end] != separator:
                hashed = (hashed ^ np.uint64(data[end])) * PRIME
                word = (word << BYTE) | np.uint64(data[end])
                end += 1
            if total < width:
                tokens[base + total] = find_token(
                    slots, token_offsets, token_words, token_bytes, data, position, end, mixed(hashed), word
                )
            total += 1
            position = end + 1
        token_counts[row] = total


@njit(cache=True, nogil=True)
def walk_level(
    level, here, following, edges, with_many, dialect, width, tokens, token_counts, dollar, list_offsets, found
):
    """Takes all nodes reached by a block of subjects one token further.

    ``here`` holds the rows, the words of the nodes, and in the last row's place their number; ``following`` takes
    those of the next level, ``found`` the findings. Gives the new numbers.
    """
    here_rows, here_words, here_count = here
    next_rows, next_words = following
    rows, firsts, lasts, findings = found
    mask = np.uint64(len(edges) // 2 - 1)
    count = 0
    for entry in range(here_count):
        row = here_rows[entry]
        word = here_words[entry]
        has = word >> HALF
        node = np.int64(word & LOW)
        at_end = level == token_counts[row]
        hidden = level == 0 and dialect == MQTT and dollar[row]
        if at_end and has & np.uint64(HAS_TERMINAL):
            rows[findings] = row
            firsts[findings] = list_offsets[2 * node]
            lasts[findings] = list_offsets[2 * node + 1]
            findings += 1
        if has & np.uint64(HAS_TAIL) and not hidden and not (at_end and dialect == NATS):
            rows[findings] = row
            firsts[findings] = list_offsets[2 * node + 1]
            lasts[findings] = list_offsets[2 * node + 2]
            findings += 1
        if at_end:
            continue
        if has & np.uint64(HAS_LITERAL):
            token = tokens[row * width + level]
            if token >= 0:
                reached = follow(edges, mask, node, FIRST_TOKEN + token)
                if reached != EMPTY:
                    next_rows[count] = row
                    next_words[count] = reached
                    count += 1
                    if with_many and (reached >> HALF) & np.uint64(HAS_MANY):
                        many = follow(edges, mask, reached & LOW, MANY_TOKEN)
                        count = push(next_rows, next_words, count, row, many)
        if has & np.uint64(HAS_ONE) and not hidden:
            reached = follow(edges, mask, node, ONE_TOKEN)
            next_rows[count] = row
            next_words[count] = reached
            count += 1
            if with_many and (reached >> HALF) & np.uint64(HAS_MANY):
                many = follow(edges, mask, reached & LOW, MANY_TOKEN)
                count = push(next_rows, next_words, count, row, many)
        if with_many and has & np.uint64(IS_MANY):
            count = push(next_rows, next_words, count, row, word)
    return count, findings


@njit(cache=True, nogil=True)
def find_lists(data, offsets, present, dialect, separator, seed, vocabulary, edges, marks, list_offsets):
    """The findings for all rows: (row, first, last) of pieces of the pattern numbers; and which rows are subjects.

    Rows that are not ``present`` are passed over. The findings of a row may stand apart, those of a block of rows
    stand together. ``marks`` says what the root has, the depth of the trie, and whether there is a many-wildcard in
    the middle of a pattern.
    """
    root = marks[0] << HALF
    with_many = marks[2] != np.uint64(0)
    count = len(offsets) - 1
    valid = np.zeros(count, np.bool_)
    rows = np.empty(4096, np.int32)
    firsts = np.empty(4096, np.int32)
    lasts = np.empty(4096, np.int32)
    findings = 0
    # Beyond the depth of the trie only many-wildcards in the middle need to know the tokens; amqp and zato have them,
    # and no more than 256 tokens.
    width = np.int64(marks[1]) + 1 if dialect == NATS or dialect == MQTT else 257
    block = max(1, min(BLOCK, (1 << 22) // width))
    tokens = np.empty(block * width, np.int32)
    token_counts = np.empty(block, np.int64)
    dollar = np.zeros(block, np.bool_)
    here_rows = np.empty(4 * block, np.int32)
    here_words = np.empty(4 * block, np.uint64)
    next_rows = np.empty(4 * block, np.int32)
    next_words = np.empty(4 * block, np.uint64)
    for first in range(0, count, block):
        last = min(count, first + block)
        read_subjects(
            data,
            offsets[first : last + 1],
            present[first:last],
            dialect,
            separator,
            seed,
            vocabulary,
            width,
            tokens,
            token_counts,
            dollar,
            valid[first:last],
        )
        here = 0
        for row in range(last - first):
            if valid[first + row]:
                here_rows[here] = row
                here_words[here] = root
                here += 1
                if marks[0] & np.uint64(HAS_MANY):
                    here_rows[here] = row
                    here_words[here] = follow(edges, np.uint64(len(edges) // 2 - 1), 0, MANY_TOKEN)
                    here += 1
        before = findings
        level = 0
        while here:
            if 5 * here > len(next_rows):
                next_rows = np.empty(10 * here, np.int32)
                next_words = np.empty(10 * here, np.uint64)
            if findings + 2 * here > len(rows):
                size = 2 * (len(rows) + here)
                rows, firsts, lasts = grown(rows, size), grown(firsts, size), grown(lasts, size)
            here, findings = walk_level(
                level,
                (here_rows, here_words, here),
                (next_rows, next_words),
                edges,
                with_many,
                dialect,
                width,
                tokens,
                token_counts,
                dollar,
                list_offsets,
                (rows, firsts, lasts, findings),
            )
            here_rows, next_rows = next_rows, here_rows
            here_words, next_words = next_words, here_words
            level += 1
        for finding in range(before, findings):
            rows[finding] += first
    return rows[:findings], firsts[:findings], lasts[:findings], valid


@njit(cache=True, nogil=True)
def count_matches(count, rows, firsts, lasts):
    """How many patterns match each row."""
    counts = np.zeros(count, np.int64)
    for finding in range(len(rows)):
        counts[rows[finding]] += lasts[finding] - firsts[finding]
    return counts


@njit(cache=True, nogil=True)
def copy_matches(starts, rows, firsts, lasts, members, values):
    """Writes the pattern numbers of each row, ascending, to its place in ``values``."""
    cursor = starts[:-1].copy()
    for finding in range(len(rows)):
        row = rows[finding]
        place = cursor[row]
        for member in range(firsts[finding], lasts[finding]):
            values[place] = members[member]
            place += 1
        cursor[row] = place
    for row in range(len(starts) - 1):
        start, stop = starts[row], starts[row + 1]
        if stop - start <= 48:
            for place in range(start + 1, stop):
                value = values[place]
                before = place - 1
                while before >= start and values[before] > value:
                    values[before + 1] = values[before]
                    before -= 1
                values[before + 1] = value
        else:
            values[start:stop].sort()


@njit(cache=True, nogil=True)
def spread_lists(indices, list_offsets, list_values, starts, values):
    """Writes for each row the list that its index names."""
    for row in range(len(indices)):
        index = indices[row]
        if index >= 0:
            place = starts[row]
            for member in range(list_offsets[index], list_offsets[index + 1]):
                values[place] = list_values[member]
                place += 1


@njit(cache=True, nogil=True)
def fill_pairs(rows, firsts, lasts, members, finding, offset, pair_rows, pair_members):
    """Writes pairs of row and pattern number until the room or the findings end; gives where to go on."""
    room = len(pair_rows)
    filled = 0
    while finding < len(rows) and filled < room:
        first = firsts[finding] + offset
        take = min(lasts[finding] - first, room - filled)
        for member in range(take):
            pair_rows[filled + member] = rows[finding]
            pair_members[filled + member] = members[first + member]
        filled += take
        offset += take
        if firsts[finding] + offset == lasts[finding]:
            finding += 1
            offset = 0
    return finding, offset, filled


@njit(cache=True, nogil=True)
def best_of_lists(list_offsets, members, rank):
    """Where a list begins among the members: its pattern of the lowest rank, the first of them; else the member."""
    best = members.copy()
    for index in range(len(list_offsets) - 1):
        first = list_offsets[index]
        for place in range(first + 1, list_offsets[index + 1]):
            if rank[members[place]] < rank[best[first]]:
                best[first] = members[place]
    return best


@njit(cache=True, nogil=True)
def best_matches(count, rows, firsts, best, rank):
    """For each row the pattern of the lowest rank, the first of them; -1 where nothing matches."""
    chosen = np.full(count, -1, np.int32)
    for finding in range(len(rows)):
        row = rows[finding]
        number = best[firsts[finding]]
        before = chosen[row]
        if before < 0 or rank[number] < rank[before] or (rank[number] == rank[before] and number < before):
            chosen[row] = number
    return chosen
