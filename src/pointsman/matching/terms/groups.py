"""The index of groups: from the matchers that hold for a message to the subscriptions they fulfil.

No matcher is counted twice, because none is counted: a subscription is found through a matcher without which it cannot
hold (each of its includes, or the least used one when it needs all of them) and then asked about the others. So a
matcher that half of all subscriptions share, such as a language, costs nothing where a rarer one is needed too. A
message costs what is asked of the subscriptions it finds: at the most, all their matchers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pointsman.errors import InputError, PatternError
from pointsman.matching.terms.hits import MAX_PAIRS, Hits, checked, in_pieces
from pointsman.matching.terms.kernels.compiled import Bytes, Ids, Places, frozen
from pointsman.matching.terms.kernels.group import EXCLUDES_ALL, INCLUDES_ALL, GroupArrays, choose_filing, match_rows


class GroupIndex:
    """Subscriptions by position, over matchers by number; frozen. Safe between threads."""

    def __init__(self, arrays: GroupArrays) -> None:
        self.arrays = arrays

    def __len__(self) -> int:
        return self.arrays.rules.size

    @classmethod
    def build(cls, subscriptions: Any, matcher_count: int, broad: int = 0) -> GroupIndex:
        """The index of an Arrow array of structs: ``includes`` and ``excludes``, each ``{all, matchers}`` with a list
        of matcher numbers below ``matcher_count``.

        A null ``excludes`` excludes nothing. The last ``broad`` matchers hold for nearly everything; no subscription
        is looked for under them if it can be helped. Raises ``PatternError`` (``empty``) for a subscription that
        includes nothing, ``InputError`` (``bad-usage``) for a matcher that there is not.
        """
        includes, excludes = subscriptions.flatten()
        groups = [_lists(includes), _lists(excludes)]
        empty = np.flatnonzero(np.diff(groups[0][0]) == 0)
        if empty.size:
            raise PatternError("empty", f"subscription {empty[0]} includes nothing")
        rules = INCLUDES_ALL * _flags(includes) | EXCLUDES_ALL * _flags(excludes)
        offsets, terms = _interleaved(groups, matcher_count)
        uses = np.bincount(terms, minlength=matcher_count).astype(np.int64)
        uses[matcher_count - broad :] += terms.size
        return cls(_filed(rules.astype(np.uint8), offsets, terms, uses))

    def match_batches(self, rows: Any, matchers: Any, max_pairs: int = MAX_PAIRS) -> Iterator[Any]:
        """The pairs of ``row`` and ``subscription`` position, ascending, in record batches of up to ``max_pairs``.

        ``rows`` and ``matchers`` are the pairs that hold, as ``TermIndex`` gives them: the rows ascending.
        """
        checked(max_pairs)
        row_numbers = np.asarray(rows, np.int64)
        if row_numbers.size:
            first = int(row_numbers[0])
            offsets = np.searchsorted(row_numbers, np.arange(first, int(row_numbers[-1]) + 2))
            hits = Hits(first, frozen(offsets), frozen(np.asarray(matchers, np.int32)))
            for found in self.rows(iter([hits])):
                yield from found.batches("subscription", max_pairs)

    def rows(self, pieces: Iterator[Hits]) -> Iterator[Hits]:
        """The subscriptions of each row, from the matchers of each row, in pieces of whole rows."""
        work = _Work(self.arrays)
        for hits in pieces:
            yield from in_pieces(hits.first, hits.offsets.size - 1, len(self), partial(work.fill, hits))


class _Work:
    """One call: its scratch arrays, and the tickets that say which row wrote on them last."""

    def __init__(self, arrays: GroupArrays) -> None:
        self.arrays = arrays
        self.seen_terms = np.zeros(arrays.filed_offsets.size - 1, np.int64)
        self.seen = np.zeros(arrays.rules.size, np.int64)
        self.ticket = 1

    def fill(self, hits: Hits, row: int, offsets: Places, ids: Ids) -> int:
        ticket = self.ticket
        self.ticket += hits.offsets.size
        return match_rows(row, hits.offsets, hits.ids, self.arrays, ticket, self.seen_terms, self.seen, offsets, ids)


def _lists(group: Any) -> tuple[Places, Ids]:
    """Where the matchers of each group begin, and all of them."""
    lists = group.flatten()[1].cast(pa.large_list(pa.int64()))
    counts = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return np.concatenate([[0], np.cumsum(counts)]), lists.flatten().to_numpy(zero_copy_only=False)


def _flags(group: Any) -> npt.NDArray[np.int64]:
    every = group.flatten()[0].fill_null(False)
    return np.asarray(every.cast(pa.int64()))


def _interleaved(groups: list[tuple[Places, Ids]], matcher_count: int) -> tuple[Places, Ids]:
    """The distinct matchers of each group; includes and excludes in turns."""
    codes = []
    for side, (offsets, matchers) in enumerate(groups):
        if matchers.size and not 0 <= matchers.min() <= matchers.max() < matcher_count:
            raise InputError("bad-usage", f"a group names a matcher outside of 0 to {matcher_count - 1}")
        owners = np.repeat(2 * np.arange(offsets.size - 1) + side, np.diff(offsets))
        codes.append(owners * matcher_count + matchers)
    distinct = np.sort(np.concatenate(codes))
    distinct = distinct[np.diff(distinct, prepend=-1) > 0]
    starts = np.arange(2 * (groups[0][0].size - 1) + 1) * matcher_count
    return np.searchsorted(distinct, starts), (distinct % max(1, matcher_count)).astype(np.int32)


def _filed(rules: Bytes, offsets: Places, terms: Ids, uses: Places) -> GroupArrays:
    filing = np.zeros(terms.size, np.uint8)
    asking = np.zeros(terms.size, np.uint8)
    choose_filing(offsets, terms, rules, uses, filing, asking)
    owners = np.repeat(np.arange(offsets.size - 1) // 2, np.diff(offsets)).astype(np.int32)
    chosen = np.flatnonzero(filing)
    order = chosen[np.argsort(terms[chosen], kind="stable")]
    filed_offsets = np.searchsorted(terms[order], np.arange(uses.size + 1))
    asked_before = np.concatenate([[0], np.cumsum(asking, dtype=np.int64)])
    arrays = GroupArrays(filed_offsets, owners[order], asked_before[offsets], terms[asking == 1], rules)
    return GroupArrays(*(frozen(array) for array in arrays))
