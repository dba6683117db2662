"""A prepared piece of a file is stored: what is plain by compiled code, and the rest one by one."""

from __future__ import annotations

import apsw
import numpy as np

from pointsman.subscriptions import statements
from pointsman.subscriptions.bulk.known import KnownTerms
from pointsman.subscriptions.bulk.packed_rows import Trees, write_subscriptions
from pointsman.subscriptions.bulk.preparing import Prepared
from pointsman.subscriptions.bulk.trees import LONGEST_NUMBER
from pointsman.subscriptions.bulk.uses import Found, Rows, find_uses
from pointsman.subscriptions.gates import pattern_width
from pointsman.subscriptions.storing import Storing


class Adding:
    """Adds pieces within one transaction; ``finish`` is the last call."""

    def __init__(self, storing: Storing) -> None:
        self._storing = storing
        self._known = KnownTerms(storing)
        storing.transaction.execute(statements.ALIKE_CREATE)
        storing.transaction.execute(statements.FORMS_CREATE)

    def add(self, prepared: Prepared) -> int:
        """Adds all subscriptions of a piece, and gives their number.

        Raises ``InputError`` with the place of one that is none, and ``StoreError`` (``subscription-exists``).
        """
        self._known.take(prepared.found)
        if prepared.order.size:
            self._add_plain(prepared)
        piece = prepared.piece
        odd = np.flatnonzero(piece.present & ~prepared.plain).tolist()
        for row in odd:
            self._storing.add(piece.read(row))
        if odd:
            self._known.is_new_to_file = False
        # The next numbers are not to be far from those that wait.
        self._storing.flush()
        return int(prepared.order.size) + len(odd)

    def finish(self) -> None:
        """Writes what is still to be written; the tables that were needed meanwhile are gone then."""
        self._known.finish()
        self._storing.transaction.execute(statements.ALIKE_DROP)
        self._storing.transaction.execute(statements.FORMS_DROP)

    def _add_plain(self, prepared: Prepared) -> None:
        rows = self._rows(prepared)
        trees = self._write_uses(prepared, rows)
        write_subscriptions(self._storing, prepared, trees, rows.pattern_numbers)

    def _rows(self, prepared: Prepared) -> Rows:
        known, patterns, plain, order = self._storing.patterns, prepared.patterns, prepared.plain, prepared.order
        used = np.zeros(len(patterns.values), np.bool_)
        used[patterns.codes[plain & (patterns.codes >= 0)]] = True
        numbers = [known.number(each) if is_used else 0 for each, is_used in zip(patterns.values, used, strict=True)]
        places = np.zeros(plain.size, np.int64)
        places[order] = np.arange(order.size)
        return Rows(
            plain,
            np.ascontiguousarray(prepared.piece.enabled),
            places,
            np.ascontiguousarray(patterns.codes),
            np.array(numbers, np.int64),
            np.array([0 if each is None else pattern_width(each) for each in patterns.values], np.int32),
            np.array([known.uses[number] if number else 0 for number in numbers], np.int64),
        )

    def _write_uses(self, prepared: Prepared, rows: Rows) -> Trees:
        """Writes the matchers and who uses them, and gives the trees."""
        storing, known, read, terms = self._storing, self._known, prepared.read, prepared.found
        count = terms.terms.size
        pattern_uses = rows.pattern_uses.copy()
        found = Found(
            np.empty(count + rows.plain.size, np.int64),
            np.empty(int(read.sign_offsets[-1]) + LONGEST_NUMBER * count, np.uint8),
            np.zeros(rows.plain.size + 1, np.int64),
        )
        size = find_uses(read, terms.terms, known.numbers, known.uses, terms.widths, rows, found)
        known.write(terms)
        more = dict(zip(rows.pattern_numbers.tolist(), (rows.pattern_uses - pattern_uses).tolist(), strict=True))
        storing.patterns.flush({number: each for number, each in more.items() if each})
        if size:
            packed = np.sort(found.uses[:size])
            first = storing.control.last_subscription + 1
            storing.transaction.execute(statements.USES_ADD, (apsw.carray(packed), first))
        return Trees(found.trees, found.tree_offsets)
