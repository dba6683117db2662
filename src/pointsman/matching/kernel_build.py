"""Compiled code: from the texts of millions of patterns to one trie in flat arrays.

The vocabulary is a hash table of tokens whose bytes are compared, never trusted to their hash. The trie's edges are
one open-addressing table of pairs of 64-bit words: (node, token) and (what the child has, child). Tokens 0 and 1 are
the wildcards for one and for many; the vocabulary's tokens follow.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pointsman.matching.kernel_text import TRIE

ONE_TOKEN, MANY_TOKEN, FIRST_TOKEN = 0, 1, 2

# What a node has, in the upper half of the word that leads to it.
HAS_LITERAL, HAS_ONE, HAS_MANY, HAS_TERMINAL, HAS_TAIL, IS_MANY = 1, 2, 4, 8, 16, 32

BLOCK = 256
"""How many patterns are inserted together."""

EMPTY = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
LOW = np.uint64(0xFFFF_FFFF)
HALF = np.uint64(32)
BYTE = np.uint64(8)
PRIME = np.uint64(0x0000_0100_0000_01B3)
SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)
BLEND = np.uint64(0xD6E8_FEB8_6659_FD93)


@njit(cache=True, nogil=True, inline="always")
def mixed(value):
    """The bits of a 64-bit number spread over all of it."""
    value ^= value >> HALF
    value *= BLEND
    value ^= value >> HALF
    return value


@njit(cache=True, nogil=True, inline="always")
def edge_place(node, token, mask):
    """Where the search for an edge begins."""
    return np.int64(mixed(((np.uint64(node) << HALF) | np.uint64(token)) * SPREAD) & mask)


@njit(cache=True, nogil=True)
def find_token(slots, token_offsets, token_words, token_bytes, data, start, stop, hashed, word):
    """The number of a token in the vocabulary, or -1. ``word`` is its last eight bytes, which mostly are all of it."""
    mask = np.uint64(len(slots) - 1)
    place = np.int64(hashed & mask)
    tag = hashed >> HALF
    while True:
        slot = slots[place]
        if slot == np.uint64(0):
            return np.int64(-1)
        if slot >> HALF == tag:
            number = np.int64(slot & LOW) - 1
            first = token_offsets[number]
            if token_words[number] == word and token_offsets[number + 1] - first == stop - start:
                same = True
                for offset in range(stop - start - 8):
                    if token_bytes[first + offset] != data[start + offset]:
                        same = False
                        break
                if same:
                    return number
        place = (place + 1) & np.int64(mask)


@njit(cache=True, nogil=True)
def grown(array, size):
    """A copy of an array with more room."""
    larger = np.empty(size, array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def put_slot(slots, hashed, number):
    """Files a token's number under its hash."""
    mask = np.int64(len(slots) - 1)
    place = np.int64(hashed & np.uint64(mask))
    while slots[place] != np.uint64(0):
        place = (place + 1) & mask
    slots[place] = ((hashed >> HALF) << HALF) | np.uint64(number + 1)


@njit(cache=True, nogil=True)
def filed_slots(hashes, known, room):
    """The slots of a vocabulary, with at least so much room."""
    size = 64
    while size < room:
        size *= 2
    slots = np.zeros(size, np.uint64)
    for number in range(known):
        put_slot(slots, hashes[number], number)
    return slots


@njit(cache=True, nogil=True)
def resized_edges(edges, capacity):
    """The same edges in a table for so many, a power of two."""
    resized = np.full(2 * capacity, EMPTY, np.uint64)
    mask = np.uint64(capacity - 1)
    for source in range(0, len(edges), 2):
        key = edges[source]
        if key != EMPTY:
            place = edge_place(key >> HALF, key & LOW, mask)
            while resized[2 * place] != EMPTY:
                place = (place + 1) & np.int64(mask)
            resized[2 * place] = key
            resized[2 * place + 1] = edges[source + 1]
    return resized


@njit(cache=True, nogil=True)
def capacity_for(nodes):
    """The size of the table for the edges to so many nodes: two thirds of it full, at the most."""
    capacity = 1 << 11
    while 3 * nodes > 2 * capacity:
        capacity *= 2
    return capacity


@njit(cache=True, nogil=True)
def intern_block(
    data,
    offsets,
    kinds,
    signs,
    seed,
    slots,
    hashes,
    token_offsets,
    token_words,
    token_bytes,
    known,
    tokens,
    starts,
    tails,
):
    """The tokens of a block of patterns as numbers, new ones added to the vocabulary, which must have the room.

    Gives the number of tokens then known and the most one-wildcards and literals in a pattern.
    """
    separator, one, many, many_length = signs
    filled = 0
    deepest = 0
    for index in range(len(kinds)):
        starts[index] = filled
        tails[index] = 0
        begin, stop = offsets[index], offsets[index + 1]
        # Only AMQP has an empty pattern; it has no token.
        if kinds[index] != TRIE or begin == stop:
            continue
        position = begin
        after_many = False
        seen_many = False
        depth = 0
        while position <= stop:
            end = position
            hashed = seed
            word = np.uint64(0)
            while end < stop and data[end] != separator:
                hashed = (hashed ^ np.uint64(data[end])) * PRIME
                word = (word << BYTE) | np.uint64(data[end])
                end += 1
            size = end - position
            token = np.int64(-1)
            if size == many_length and data[position] == many and (size == 1 or data[position + 1] == many):
                if end == stop and not seen_many:
                    tails[index] = 1
                elif not after_many:
                    token = np.int64(MANY_TOKEN)
            elif size == 1 and data[position] == one:
                token = np.int64(ONE_TOKEN)
            else:
                hashed = mixed(hashed)
                token = find_token(slots, token_offsets, token_words, token_bytes, data, position, end, hashed, word)
                if token < 0:
                    token = known
                    hashes[known] = hashed
                    token_words[known] = word
                    first = token_offsets[known]
                    for offset in range(size):
                        token_bytes[first + offset] = data[position + offset]
                    token_offsets[known + 1] = first + size
                    put_slot(slots, hashed, known)
                    known += 1
                token += FIRST_TOKEN
            if token >= 0:
                after_many = token == MANY_TOKEN
                seen_many = seen_many or after_many
                depth += 0 if after_many else 1
                tokens[filled] = token
                filled += 1
            position = end + 1
        deepest = max(deepest, depth)
    starts[len(kinds)] = filled
    return known, deepest


@njit(cache=True, nogil=True)
def insert_level(edges, tokens, starts, level, places, count, nodes):
    """Takes each pattern of a block one token further into the trie; gives the number of nodes then."""
    mask = np.int64(len(edges) // 2 - 1)
    for local in range(count):
        if starts[local] + level < starts[local + 1]:
            node = places[local]
            token = tokens[starts[local] + level]
            key = (np.uint64(node) << HALF) | np.uint64(token)
            place = edge_place(node, token, np.uint64(mask))
            while edges[2 * place] != key and edges[2 * place] != EMPTY:
                place = (place + 1) & mask
            if edges[2 * place] == EMPTY:
                edges[2 * place] = key
                edges[2 * place + 1] = np.uint64(nodes)
                nodes += 1
            places[local] = np.int64(edges[2 * place + 1])
    return nodes


@njit(cache=True, nogil=True)
def build_trie(data, offsets, kinds, signs, seed):
    """The trie of all patterns of kind TRIE.

    Gives, for each pattern, its list (two for each node: that of patterns which end there, and that of patterns which
    end there in a many-wildcard), or -1; then the vocabulary, the edges, the number of nodes and the depth.

    A block of patterns is inserted level by level, all of them together, so that the memory can serve many at once.
    """
    count = len(offsets) - 1
    lists = np.full(count, -1, np.int32)
    slots = np.zeros(1 << 6, np.uint64)
    hashes = np.empty(1, np.uint64)
    token_offsets = np.zeros(2, np.int64)
    token_words = np.empty(1, np.uint64)
    token_bytes = np.empty(1, np.uint8)
    known = 0
    edges = np.full(2 * capacity_for(1), EMPTY, np.uint64)
    nodes = 1
    deepest = 0
    tokens = np.empty(1, np.int64)
    starts = np.empty(BLOCK + 1, np.int64)
    tails = np.empty(BLOCK, np.int64)
    places = np.empty(BLOCK, np.int64)
    for first in range(0, count, BLOCK):
        last = min(count, first + BLOCK)
        size = last - first
        room = offsets[last] - offsets[first] + size
        if known + room > len(hashes):
            hashes = grown(hashes, 2 * (known + room))
            token_offsets = grown(token_offsets, 2 * (known + room) + 1)
            token_words = grown(token_words, 2 * (known + room))
            slots = filed_slots(hashes, known, 2 * len(hashes))
        if token_offsets[known] + room > len(token_bytes):
            token_bytes = grown(token_bytes, 2 * (token_offsets[known] + room))
        if room > len(tokens):
            tokens = np.empty(2 * room, np.int64)
        known, depth = intern_block(
            data,
            offsets[first : last + 1],
            kinds[first:last],
            signs,
            seed,
            slots,
            hashes,
            token_offsets,
            token_words,
            token_bytes,
            known,
            tokens,
            starts,
            tails,
        )
        deepest = max(deepest, depth)
        longest = 0
        for local in range(size):
            places[local] = 0
            longest = max(longest, starts[local + 1] - starts[local])
        for level in range(longest):
            if 3 * (nodes + size) > len(edges):
                # Four times the size, unless less will do when the other patterns bring as many nodes as these.
                expected = (nodes + size) * count // last
                edges = resized_edges(edges, min(2 * len(edges), capacity_for(max(nodes + size, expected))))
            nodes = insert_level(edges, tokens, starts, level, places, size, nodes)
        for local in range(size):
            if kinds[first + local] == TRIE:
                lists[first + local] = 2 * places[local] + tails[local]
    if 2 * capacity_for(nodes) < len(edges):
        edges = resized_edges(edges, capacity_for(nodes))
    slots = filed_slots(hashes, known, 2 * known + 2)
    vocabulary = (
        slots,
        token_offsets[: known + 1].copy(),
        token_words[:known].copy(),
        token_bytes[: token_offsets[known]].copy(),
    )
    return lists, vocabulary, edges, nodes, deepest


@njit(cache=True, nogil=True)
def file_lists(lists, nodes, numbers):
    """The patterns of each list, in their order, as offsets and numbers."""
    offsets = np.zeros(2 * nodes + 1, np.int32)
    for index in range(len(lists)):
        if lists[index] >= 0:
            offsets[lists[index] + 1] += 1
    for index in range(2 * nodes):
        offsets[index + 1] += offsets[index]
    members = np.empty(offsets[2 * nodes], np.int32)
    cursor = offsets[:-1].copy()
    for index in range(len(lists)):
        if lists[index] >= 0:
            members[cursor[lists[index]]] = numbers[index]
            cursor[lists[index]] += 1
    return offsets, members


@njit(cache=True, nogil=True)
def mark_nodes(edges, nodes, list_offsets):
    """Writes what each node has beside each edge that leads to it; gives the marks of the root."""
    marks = np.zeros(nodes, np.uint64)
    for node in range(nodes):
        if list_offsets[2 * node + 1] > list_offsets[2 * node]:
            marks[node] |= np.uint64(HAS_TERMINAL)
        if list_offsets[2 * node + 2] > list_offsets[2 * node + 1]:
            marks[node] |= np.uint64(HAS_TAIL)
    for source in range(0, len(edges), 2):
        key = edges[source]
        if key != EMPTY:
            token = key & LOW
            if token == np.uint64(ONE_TOKEN):
                marks[key >> HALF] |= np.uint64(HAS_ONE)
            elif token == np.uint64(MANY_TOKEN):
                marks[key >> HALF] |= np.uint64(HAS_MANY)
                marks[edges[source + 1]] |= np.uint64(IS_MANY)
            else:
                marks[key >> HALF] |= np.uint64(HAS_LITERAL)
    for source in range(0, len(edges), 2):
        if edges[source] != EMPTY:
            child = edges[source + 1]
            edges[source + 1] = child | (marks[child] << HALF)
    return marks[0]
