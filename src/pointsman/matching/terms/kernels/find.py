"""Which terms hold for a text: its parts are looked up, and what is filed under them is compared with the text.

That is done in three steps for a batch of parts, so that the processor can wait for many places in memory at once: the
parts that pass the sieve are noted, their slots are read, and the terms found there are compared. Every candidate is
compared by space and bytes, so that colliding hashes cost time and never change an answer.

The scratch array carries the number of the text that last touched a place instead of being emptied: for each list of
terms, so that a stretch that comes a million times is looked at once; for each term, so that it is found once a stamp.
"""

from __future__ import annotations

import numpy as np

from pointsman.matching.terms.kernels.anchor import BARE, STRETCH, STRETCHES, WHOLE, anchor_hash, count_characters
from pointsman.matching.terms.kernels.arrays import LAST, Notes, Search, TermArrays, Texts
from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Number, Places, Words, compiled
from pointsman.matching.terms.kernels.glob import glob
from pointsman.matching.terms.kernels.note import note_beginnings, note_endings, note_stretches
from pointsman.matching.terms.kernels.text import ONE, hash_prefixes

FULL = -1
"""There was no room for all that was found."""
NOTED = 2048
"""Parts that are looked up together."""
EDGES = 64
"""Room for the notes of all beginnings and ends of a text; there are 22 round sizes of either."""


@compiled
def compare_list(
    patterns: Bytes,
    records: Places,
    data: Bytes,
    begin: int,
    end: int,
    text_space: int,
    term: Number,
    stamp: int,
    seen: Places,
    found: Ids,
    count: int,
) -> int:
    """Appends the terms of a list, from its first one, that hold for a text; counts on, ``FULL`` when out of room."""
    while True:
        mark = records[2 * term + 1]
        space = mark & (LAST - 1)
        if (
            (space == text_space or space == text_space & 1)
            and seen[2 * term + 1] != stamp
            and glob(patterns, records[2 * term], records[2 * term + 2], data, begin, end)
        ):
            if count == found.size:
                return FULL
            seen[2 * term + 1] = stamp
            found[count] = term
            count += 1
        if mark & LAST:
            return count
        term += 1


@compiled
def find_bare(
    sizes: Ids,
    is_open: Flags,
    first: int,
    stop: int,
    first_term: int,
    characters: int,
    stamp: int,
    seen: Places,
    found: Ids,
    count: int,
) -> int:
    """Appends the bare terms from first to stop that hold for a text of so many characters; counts on."""
    for bare in range(first, stop):
        if is_open[bare]:
            if sizes[bare] > characters:
                break
        elif sizes[bare] != characters:
            continue
        term = first_term + bare
        if seen[2 * term + 1] != stamp:
            if count == found.size:
                return FULL
            seen[2 * term + 1] = stamp
            found[count] = term
            count += 1
    return count


@compiled
def look_up(terms: TermArrays, texts: Texts, search: Search, notes: Notes, noted: int, count: int) -> int:
    """Appends the terms under the noted anchors that hold for their texts, and counts on."""
    if count == FULL:
        return FULL
    slots, records, patterns = terms.slots, terms.records, terms.data
    data, begins, ends, spaces = texts.data, texts.begins, texts.ends, texts.spaces
    seen, found, counts = search.seen, search.found, search.counts
    values, noted_texts = notes.values, notes.texts
    bare_offsets, bare_sizes, bare_open = terms.bare_offsets, terms.bare_sizes, terms.bare_open
    first_bare = records.size // 2 - 1 - bare_sizes.size
    mask = np.uint64(slots.size - 1)
    entries = np.empty(noted, np.uint64)
    for note in range(noted):
        entries[note] = slots[values[note] & mask]
    for note in range(noted):
        text = max(noted_texts[note], ~noted_texts[note])
        begin, end = begins[text], ends[text]
        number = search.ticket + text
        stamp = search.ticket if search.as_one else number
        before = count
        if noted_texts[note] < 0:
            first, stop = bare_offsets[values[note]], bare_offsets[values[note] + ONE]
            characters = count_characters(data, begin, end)
            count = find_bare(bare_sizes, bare_open, first, stop, first_bare, characters, stamp, seen, found, count)
            entries[note] = 0
        slot, entry = values[note] & mask, entries[note]
        while entry != np.uint64(0) and count != FULL:
            if (entry ^ values[note]) >> np.uint64(32) == np.uint64(0):
                first = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
                if seen[2 * first] != number:
                    seen[2 * first] = number
                    count = compare_list(
                        patterns, records, data, begin, end, spaces[text], first, stamp, seen, found, count
                    )
            slot = (slot + ONE) & mask
            entry = slots[slot]
        if count == FULL:
            return FULL
        counts[text] += count - before
    return count


@compiled
def find_terms(terms: TermArrays, texts: Texts, search: Search, hashes: Words) -> int:
    """Writes the terms of each text, one list after the other, and counts them; ``FULL`` when they do not fit."""
    kinds, sieve, powers = terms.kinds, terms.sieve, terms.powers
    beginning_offsets, ending_offsets = terms.beginning_offsets, terms.ending_offsets
    beginnings, endings, data, counts = terms.beginnings, terms.endings, texts.data, search.counts
    notes = Notes(np.empty(NOTED + 1, np.uint64), np.empty(NOTED, np.int64))
    values, noted_texts = notes.values, notes.texts
    noted = count = 0
    for text in range(texts.spaces.size):
        counts[text] = 0
        begin, end, space = texts.begins[text], texts.ends[text], np.int64(texts.spaces[text])
        if not kinds[space] | kinds[space & 1]:
            continue
        size = end - begin
        hash_prefixes(data, begin, end, hashes)
        for filed in (space, space & 1):
            if noted > NOTED - EDGES:
                count = look_up(terms, texts, search, notes, noted, count)
                noted = 0
            if kinds[filed] & (1 << BARE):
                values[noted] = filed
                noted_texts[noted] = ~text
                noted += 1
            before = noted
            if kinds[filed] & (1 << WHOLE):
                values[noted] = anchor_hash(hashes[size], filed, WHOLE)
                noted += 1
            first, stop = beginning_offsets[filed], beginning_offsets[filed + 1]
            noted = note_beginnings(sieve, beginnings, first, stop, filed, hashes, size, values, noted)
            first, stop = ending_offsets[filed], ending_offsets[filed + 1]
            noted = note_endings(sieve, powers, endings, first, stop, filed, hashes, size, values, noted)
            noted_texts[before:noted] = text
            for number in range(len(STRETCHES)):
                if kinds[filed] & (1 << (STRETCH + number)):
                    first, last = 0, size - STRETCHES[number] + 1
                    while first < last:
                        if noted > NOTED - EDGES:
                            count = look_up(terms, texts, search, notes, noted, count)
                            noted = 0
                        stop = min(last, first + NOTED - noted)
                        before = noted
                        noted = note_stretches(sieve, powers, number, filed, hashes, first, stop, values, noted)
                        noted_texts[before:noted] = text
                        first = stop
            if space == filed & 1:
                break
        if count == FULL:
            return FULL
    return look_up(terms, texts, search, notes, noted, count)
