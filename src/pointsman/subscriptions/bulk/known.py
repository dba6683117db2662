"""The terms that are known: the matchers of what was imported so far in a transaction, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import numpy as np

from pointsman.matching.terms.kernels.compiled import Places
from pointsman.subscriptions import statements
from pointsman.subscriptions.bulk.packed_rows import find_matchers, write_matchers
from pointsman.subscriptions.bulk.term_table import GROWTH, FoundTerms, larger
from pointsman.subscriptions.bulk.terms import beginnings
from pointsman.subscriptions.leaf_rows import LeafRow
from pointsman.subscriptions.storing import Storing

FIRST_NUMBER = 4
"""Kinds from here on are comparisons of numbers."""
_COUNT_BITS = 20
_MOST_AT_ONCE = (1 << _COUNT_BITS) - 1


class KnownTerms:
    """The numbers of terms, and how often each is used, in arrays with room for more; ``finish`` is the last call."""

    def __init__(self, storing: Storing) -> None:
        self._storing = storing
        self.is_new_to_file = storing.matchers.knows_all
        """Whether a term that is new cannot be in the file."""
        self._count = 0
        self.numbers: Places = np.zeros(0, np.int64)
        self.uses: Places = np.zeros(0, np.int64)
        self._written: Places = np.zeros(0, np.int64)
        """How often the file says that each is used."""

    def take(self, found: FoundTerms) -> None:
        """Gives new terms their numbers, of the file if they are in it."""
        if found.is_anew and self._count:
            self.finish()
            self.is_new_to_file = False
        if found.total > self.numbers.size:
            room = max(GROWTH * self.numbers.size, found.total)
            self.numbers, self.uses, self._written = (
                larger(each, self._count, room) for each in (self.numbers, self.uses, self._written)
            )
        self._count = found.total
        self._number(found)

    def write(self, found: FoundTerms) -> None:
        """Writes the matchers that are new to the file."""
        is_text = found.leaves.kinds[self._new] < FIRST_NUMBER
        comparisons, texts = self._new[~is_text], self._new[is_text]
        if comparisons.size:
            counts = zip(self.numbers[comparisons].tolist(), self.uses[comparisons].tolist(), strict=True)
            rows = [(*row, *rest) for row, rest in zip(_rows(found, comparisons), counts, strict=True)]
            self._storing.transaction.executemany(statements.MATCHER_ADD, rows)
            self._written[comparisons] = self.uses[comparisons]
        if texts.size:
            first = int(self.numbers[texts[0]])
            self._written[texts] = write_matchers(
                self._storing, found.data, found.leaves, texts, self.uses[texts], first
            )
        self._storing.matchers.forget_all()

    def finish(self) -> None:
        """Writes how often each is used, as far as the file does not say so yet."""
        changed = np.flatnonzero(self.uses[: self._count] != self._written[: self._count])
        changed = changed[np.argsort(self.numbers[changed])]
        while changed.size:
            more = np.minimum(self.uses[changed] - self._written[changed], _MOST_AT_ONCE)
            packed = self.numbers[changed] << _COUNT_BITS | more
            self._storing.transaction.execute(statements.MATCHERS_USE, (apsw.carray(packed),))
            self._written[changed] += more
            changed = changed[self.uses[changed] != self._written[changed]]

    def _number(self, found: FoundTerms) -> None:
        """Numbers for the new terms: comparisons, then texts in the order that their index has."""
        new = np.arange(found.first, found.total)
        self.numbers[new] = self.uses[new] = self._written[new] = 0
        if not self.is_new_to_file:
            for term, number, uses in self._stored(found, new):
                self.numbers[term] = number
                self.uses[term] = self._written[term] = uses
            new = new[self.numbers[new] == 0]
        texts, sizes = found.leaves.texts[new], found.leaves.text_sizes[new]
        is_text = found.leaves.kinds[new] < FIRST_NUMBER
        self._new: Places = new[np.lexsort((beginnings(found.data, texts, sizes), is_text))]
        control = self._storing.control
        self.numbers[self._new] = np.arange(control.last_matcher + 1, control.last_matcher + 1 + new.size)
        control.last_matcher += int(new.size)

    def _stored(self, found: FoundTerms, terms: Places) -> Iterator[tuple[int, int, int]]:
        """Those of these terms that are in the file: the term, its number, and how often it is used."""
        is_text = found.leaves.kinds[terms] < FIRST_NUMBER
        comparisons = terms[~is_text]
        for term, row in zip(comparisons.tolist(), _rows(found, comparisons), strict=True):
            stored = self._storing.transaction.first(statements.MATCHER_FIND, row)
            if stored is not None:
                yield term, *stored
        texts = terms[is_text]
        order = np.argsort(beginnings(found.data, found.leaves.texts[texts], found.leaves.text_sizes[texts]))
        yield from find_matchers(self._storing, found.data, found.leaves, texts[order])


def _rows(found: FoundTerms, comparisons: Places) -> list[LeafRow]:
    """The rows of terms that are comparisons."""
    rows: list[LeafRow] = []
    for term in comparisons.tolist():
        begin, leaves = int(found.leaves.keys[term]), found.leaves
        key = found.data[begin : begin + int(leaves.key_sizes[term])].tobytes().decode()
        rows.append((float(leaves.numbers[term]), key, int(leaves.kinds[term])))
    return rows
