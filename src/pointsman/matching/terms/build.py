"""Building the frozen arrays of terms from a column of matchers."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.errors import PatternError
from pointsman.matching.terms.kernels.anchor import (
    BARE,
    BEGINNING,
    ENDING,
    LONGEST,
    WHOLE,
    choose_anchors,
    copy_texts,
    fill_sieve,
    fill_slots,
)
from pointsman.matching.terms.kernels.arrays import LAST, TermArrays
from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Places, Words, frozen
from pointsman.matching.terms.kernels.text import number_distinct, powers

BASE = np.uint64(secrets.randbits(64) & ~7 | 5)
"""Of the hash that tells equal texts: no answer depends on it, and who does not know it cannot make texts collide."""
SIEVE_BITS = 16
"""Bits of the sieve for each term with wildcards."""


class Built(NamedTuple):
    """The frozen terms, the names of their keys (key 1 is the first), and the term of each matcher."""

    arrays: TermArrays
    keys: list[str]
    term_of_matcher: Ids


def build_terms(matchers: Any) -> Built:
    """The distinct terms of a column of matchers (``MATCHER``).

    Raises ``PatternError``: ``not-text`` where a pattern, or whether it is partial, is null; ``too-long`` for a pattern
    with wildcards of more than ``LONGEST`` bytes.
    """
    keys, patterns, partial = matchers.flatten()
    if patterns.null_count or partial.null_count:
        raise PatternError("not-text", "a matcher has a pattern and says whether it is partial; neither may be null")
    keys = keys.dictionary_encode()
    key_ids = pc.add(keys.indices.cast(pa.int32()), 1).fill_null(0).to_numpy(zero_copy_only=False)
    spaces = (2 * key_ids + partial.cast(pa.int8()).to_numpy(zero_copy_only=False)).astype(np.int32)
    data, offsets = text_arrays(patterns)
    numbers, firsts = distinct(spaces, offsets[:-1], offsets[1:], data)
    data, offsets = gather(data, offsets[:-1][firsts], offsets[1:][firsts], np.arange(firsts.size))
    spaces = spaces[firsts]
    arrays, place = _file(data, offsets, spaces, 2 * len(keys.dictionary) + 2)
    return Built(arrays, keys.dictionary.to_pylist(), place[numbers])


def text_arrays(texts: Any) -> tuple[Bytes, Places]:
    """The bytes of a column of texts and where each begins; one more at the end. Nothing is copied but the places."""
    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    if offsets is None or len(texts) == 0:
        return frozen(np.zeros(0, np.uint8)), np.zeros(1, np.int64)
    places = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    return frozen(np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)), places


def distinct(labels: Ids, begins: Places, ends: Places, data: Bytes) -> tuple[Ids, Ids]:
    """The number of each (label, text) among the distinct ones, and the first item of each number."""
    numbers = np.empty(labels.size, np.int32)
    firsts = np.empty(labels.size, np.int32)
    count = number_distinct(frozen(labels), frozen(begins), frozen(ends), data, BASE, numbers, firsts)
    return numbers, firsts[:count]


def gather(data: Bytes, begins: Places, ends: Places, order: Places) -> tuple[Bytes, Places]:
    """The texts in an order, their bytes one after the other."""
    offsets = np.zeros(order.size + 1, np.int64)
    np.cumsum((ends - begins)[order], out=offsets[1:])
    copied = np.empty(offsets[-1], np.uint8)
    copy_texts(data, frozen(begins), frozen(order), frozen(offsets), copied)
    return frozen(copied), frozen(offsets)


def _file(data: Bytes, offsets: Places, spaces: Ids, space_count: int) -> tuple[TermArrays, Ids]:
    """The terms filed under their anchors, and the place that each of them got."""
    anchors, kinds, sizes = _choose(data, offsets, spaces)
    order = _order(anchors, kinds, sizes, spaces, np.diff(offsets))
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    data, new_offsets = gather(data, offsets[:-1], offsets[1:], order)
    spaces, anchors, kinds, sizes = spaces[order], anchors[order], kinds[order], sizes[order]

    anchored = int(np.count_nonzero(kinds != BARE))
    changes = np.flatnonzero(np.diff(anchors[:anchored])) + 1
    starts = np.concatenate([[0] if anchored else [], changes]).astype(np.int64)
    slots = np.zeros(_power_of_two(2 * starts.size), np.uint64)
    fill_slots(anchors, starts, slots)
    wild = int(np.count_nonzero(kinds[:anchored] != WHOLE))
    sieve = np.zeros(_power_of_two(SIEVE_BITS * wild // 64 + 1), np.uint64)
    fill_sieve(anchors[:anchored], kinds[:anchored], sieve)

    kinds_in_space = np.zeros(space_count, np.int32)
    np.bitwise_or.at(kinds_in_space, spaces, np.int32(1) << kinds)
    beginning_offsets, beginnings = _sizes(spaces, sizes, kinds == BEGINNING, space_count)
    ending_offsets, endings = _sizes(spaces, sizes, kinds == ENDING, space_count)
    bare_sizes = sizes[anchored:]
    arrays = TermArrays(
        data=data,
        records=_records(new_offsets, spaces, np.append(changes, anchored) - 1),
        slots=slots,
        sieve=sieve,
        kinds=kinds_in_space,
        beginning_offsets=beginning_offsets,
        beginnings=beginnings,
        ending_offsets=ending_offsets,
        endings=endings,
        bare_offsets=np.searchsorted(spaces[anchored:], np.arange(space_count + 1)).astype(np.int32),
        bare_sizes=bare_sizes,
        bare_open=np.diff(new_offsets)[anchored:] > bare_sizes,
        powers=powers(LONGEST + 1),
    )
    return TermArrays(*(frozen(array) for array in arrays)), place


def _records(offsets: Places, spaces: Ids, lasts: Places) -> Places:
    """Begin and space of each term, side by side, so that one step into memory brings both."""
    records = np.zeros((offsets.size, 2), np.int64)
    records[:, 0] = offsets
    records[:-1, 1] = spaces
    records[lasts[lasts >= 0], 1] |= LAST
    return records.reshape(-1)


def _choose(data: Bytes, offsets: Places, spaces: Ids) -> tuple[Words, Ids, Ids]:
    anchors = np.empty(spaces.size, np.uint64)
    kinds = np.empty(spaces.size, np.int32)
    sizes = np.empty(spaces.size, np.int32)
    refused = choose_anchors(data, offsets, frozen(spaces), powers(LONGEST + 1), anchors, kinds, sizes)
    if refused >= 0:
        text = bytes(data[offsets[refused] : offsets[refused + 1]]).decode()
        problem = f"a pattern with wildcards has up to {LONGEST} bytes; this one has {len(text.encode())}"
        raise PatternError("too-long", problem, text=text)
    return anchors, kinds, sizes


def _order(anchors: Words, kinds: Ids, sizes: Ids, spaces: Ids, lengths: Places) -> Places:
    """Terms by anchor; after them the bare ones by space, those of a fixed size before the open ones, by size."""
    anchored = np.flatnonzero(kinds != BARE)
    bare = np.flatnonzero(kinds == BARE)
    by_anchor = np.argsort(anchors[anchored], kind="stable")
    by_size = np.lexsort((sizes[bare], lengths[bare] > sizes[bare], spaces[bare]))
    return np.concatenate([anchored[by_anchor], bare[by_size]])


def _sizes(spaces: Ids, sizes: Ids, chosen: Flags, space_count: int) -> tuple[Ids, Ids]:
    """The distinct sizes among the chosen terms of each space, ascending, and where those of a space begin."""
    codes = np.sort(spaces[chosen].astype(np.int64) * (LONGEST + 1) + sizes[chosen])
    codes = codes[np.diff(codes, prepend=-1) > 0]
    offsets = np.searchsorted(codes, np.arange(space_count + 1) * (LONGEST + 1))
    return offsets.astype(np.int32), (codes % (LONGEST + 1)).astype(np.int32)


def _power_of_two(least: int) -> int:
    return 1 << max(4, (least - 1).bit_length())
