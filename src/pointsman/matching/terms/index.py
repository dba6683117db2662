"""The index of matchers: which of millions of matchers hold for each message."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pointsman.matching.terms.hits import MAX_PAIRS, Hits, checked, in_pieces
from pointsman.matching.terms.kernels.compiled import Ids, Places, frozen
from pointsman.matching.terms.kernels.rows import name_rows
from pointsman.matching.terms.model import matcher_column
from pointsman.matching.terms.terms import Terms, terms_from_arrays, terms_to_arrays


class TermIndex:
    """Matchers by position, frozen. Safe between threads; holds on to nothing of what it was built from."""

    def __init__(self, terms: Terms, filed_offsets: Places, filed: Ids) -> None:
        self.terms = terms
        self._filed_offsets = filed_offsets
        self._filed = filed

    @classmethod
    def build(cls, matchers: Any) -> TermIndex:
        """The index of a column of matchers: an Arrow struct array or table of ``key`` (null: any key), ``pattern``
        and ``partial``, or ``Matcher`` objects.

        Raises ``InputError`` (``not-text``) for anything else, ``PatternError`` for a pattern that is null or, having
        wildcards, too long.
        """
        terms, term_of_matcher = Terms.build(matcher_column(matchers))
        filed_offsets, filed = file_under(term_of_matcher, len(terms))
        return cls(terms, filed_offsets, filed)

    def __len__(self) -> int:
        return self._filed.size

    @property
    def nbytes(self) -> int:
        """Bytes of all its arrays."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def match_batches(self, metadata: Any, max_pairs: int = MAX_PAIRS) -> Iterator[Any]:
        """The pairs of ``row`` and ``matcher`` position, ascending, in record batches of up to ``max_pairs``.

        ``metadata`` is an Arrow array, or chunked array, of maps from text to text; nothing holds for a null map, nor
        for a null value. Memory is bounded, whatever matches: by the batch, by a block of rows, and by a few numbers
        for each matcher. Raises ``MessageError`` (``bad-message``) for other columns.
        """
        checked(max_pairs)
        for hits in self.terms.rows(metadata):
            fill = partial(self._fill, hits)
            for named in in_pieces(hits.first, hits.offsets.size - 1, len(self), fill):
                yield from named.batches("matcher", max_pairs)

    def match(self, metadata: Any) -> Any:
        """All pairs as one Arrow table of ``row`` and ``matcher``; memory grows with them."""
        schema = pa.schema([("row", pa.int64()), ("matcher", pa.int32())])
        return pa.Table.from_batches(self.match_batches(metadata), schema)

    def _fill(self, hits: Hits, row: int, offsets: Places, ids: Ids) -> int:
        return name_rows(row, hits.offsets, hits.ids, self._filed_offsets, self._filed, offsets, ids)

    def to_arrays(self) -> dict[str, Any]:
        """All of it as named arrays, to be saved."""
        return {**terms_to_arrays(self.terms), "filed_offsets": self._filed_offsets, "filed": self._filed}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> TermIndex:
        """What ``to_arrays`` gave; the arrays may be mapped from a file."""
        return cls(terms_from_arrays(arrays), frozen(arrays["filed_offsets"]), frozen(arrays["filed"]))


def file_under(numbers: Ids, count: int) -> tuple[Places, Ids]:
    """The positions that have each number, ascending, and where those of a number begin; one more at the end."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=count), out=offsets[1:])
    return frozen(offsets), frozen(np.argsort(numbers, kind="stable").astype(np.int32))
