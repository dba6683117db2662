"""The distinct terms of many matchers, and which of them hold for each row of metadata.

How it is found:

- A column is cut into blocks of rows; equal values under equal keys, and equal lexemes, are matched once a block.
- A term without wildcards is found by the hash of the whole text, and its bytes are compared.
- A term with wildcards is filed under one part of itself (``kernels/anchor.py``): its literal beginning or end, cut to
  a round size, or a stretch of up to 8 bytes of its literals, whichever the fewest other terms offer. A text looks up
  its beginnings and ends of the sizes that occur, and its own stretches; a sieve of bits that fits into the cache turns
  most of them away. What remains is compared with the text. So the work depends on the text and on the terms that
  share an anchor with it, and not on the number of terms. An automaton over all literals (Aho-Corasick) would find the
  same candidates with one step a byte, but at a million terms each step waits for memory, and it takes several times
  the bytes; a trie of patterns has to follow every ``*`` at every place.
- A term without any literal (``*``, ``???``) is in a list by the number of characters it needs.

Memory: a block's lists are limited, and a block that exceeds the limit is halved, down to one row, for which the terms
are gathered without repetition.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from pointsman.matching.terms.build import Built, build_terms, text_arrays
from pointsman.matching.terms.hits import Hits, in_pieces
from pointsman.matching.terms.kernels.arrays import Search, TermArrays, Texts
from pointsman.matching.terms.kernels.compiled import Ids, Places, frozen
from pointsman.matching.terms.kernels.find import FULL, find_terms
from pointsman.matching.terms.kernels.rows import join_rows
from pointsman.matching.terms.metadata import Chunk, read_chunks

BLOCK_ROWS = 4096
FOUND = 1 << 20
"""Terms found in a block of more than one row, each text counted once."""


class Terms:
    """Frozen; safe between threads. Terms have numbers from 0, in an order of the index's own."""

    def __init__(self, arrays: TermArrays, keys: list[str]) -> None:
        self.arrays = arrays
        self.keys = keys
        self._key_ids = {key: number for number, key in enumerate(keys, 1)}

    def __len__(self) -> int:
        return self.arrays.records.size // 2 - 1

    @classmethod
    def build(cls, matchers: Any) -> tuple[Terms, Ids]:
        """The terms of a column of matchers, and the term of each matcher. Raises as ``build_terms``."""
        built: Built = build_terms(matchers)
        return cls(built.arrays, built.keys), built.term_of_matcher

    def bare(self) -> int:
        """How many terms, the last ones, have no literal and so hold for nearly everything."""
        return self.arrays.bare_sizes.size

    def rows(self, metadata: Any) -> Iterator[Hits]:
        """The terms that hold for each row, in pieces of whole rows. Raises as ``read_chunks``."""
        work = _Work(self.arrays)
        first = 0
        for chunk in read_chunks(metadata, self._key_ids, self.arrays.kinds):
            yield from work.chunk(chunk, first)
            first += chunk.rows


class _Work:
    """One call: its scratch arrays, and the tickets that say who wrote on them last."""

    def __init__(self, arrays: TermArrays) -> None:
        self.arrays = arrays
        self.terms = arrays.records.size // 2 - 1
        self.seen = np.zeros(2 * self.terms, np.int64)
        self.found = np.empty(FOUND, np.int32)
        self.ticket = 1

    def take(self, count: int) -> int:
        """So many tickets that nobody had; the first of them."""
        self.ticket += count
        return self.ticket - count

    def chunk(self, chunk: Chunk, first: int) -> Iterator[Hits]:
        row, step = 0, BLOCK_ROWS
        while row < chunk.rows:
            stop = chunk.cut(row, step)
            texts = chunk.texts(row, stop)
            count, counts = self.find(texts, self.found, as_one=False)
            if count != FULL:
                yield from self.join(first + row, texts, counts)
            elif stop - row > 1:
                step = (stop - row) // 2
                continue
            else:
                found = np.empty(self.terms, np.int32)
                count, _ = self.find(texts, found, as_one=True)
                yield Hits(first + row, frozen(np.array([0, count], np.int64)), frozen(found[:count]))
            row, step = stop, min(BLOCK_ROWS, 2 * step)

    def find(self, texts: Texts, found: Ids, *, as_one: bool) -> tuple[int, Places]:
        """Writes the terms of each text; how many there are, and how many for each text."""
        longest = int((texts.ends - texts.begins).max(initial=0))
        counts = np.empty(texts.spaces.size, np.int64)
        search = Search(self.take(texts.spaces.size), as_one, self.seen, counts, found)
        return find_terms(self.arrays, texts, search, np.empty(longest + 1, np.uint64)), counts

    def join(self, first: int, texts: Texts, counts: Places) -> Iterator[Hits]:
        """The terms of the rows, from what was found last."""
        text_offsets = np.zeros(counts.size + 1, np.int64)
        np.cumsum(counts, out=text_offsets[1:])
        fill = partial(self._fill, texts, frozen(text_offsets))
        return in_pieces(first, texts.row_offsets.size - 1, self.terms, fill)

    def _fill(self, texts: Texts, text_offsets: Places, row: int, offsets: Places, ids: Ids) -> int:
        ticket = self.take(texts.row_offsets.size)
        return join_rows(row, texts, text_offsets, self.found, ticket, self.seen, offsets, ids)


def terms_to_arrays(terms: Terms) -> dict[str, Any]:
    """All of it as named arrays, to be saved."""
    data, offsets = text_arrays(pa.array(terms.keys, pa.large_string()))
    return {**terms.arrays._asdict(), "key_data": data, "key_offsets": offsets}


def terms_from_arrays(arrays: dict[str, Any]) -> Terms:
    """What was saved. The arrays may be read-only and mapped from a file."""
    data, offsets = arrays["key_data"].tobytes(), arrays["key_offsets"]
    keys = [data[begin:end].decode() for begin, end in pairwise(offsets)]
    return Terms(TermArrays(*(frozen(arrays[name]) for name in TermArrays._fields)), keys)
