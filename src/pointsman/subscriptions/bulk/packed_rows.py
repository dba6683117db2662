"""The rows of new subscriptions and matchers, packed and stored by a few statements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import apsw
import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Places
from pointsman.subscriptions import statements
from pointsman.subscriptions.bulk.conditions import Leaves
from pointsman.subscriptions.bulk.packing import MOST_BYTES, MOST_ROWS, MOST_USES, pack_matchers, pack_subscriptions
from pointsman.subscriptions.bulk.preparing import Prepared
from pointsman.subscriptions.bulk.terms import number_texts
from pointsman.subscriptions.storing import Storing

_KINDS = 16


class Trees(NamedTuple):
    """The trees of all rows after each other."""

    text: Bytes
    offsets: Places


def write_subscriptions(storing: Storing, prepared: Prepared, trees: Trees, pattern_numbers: Places) -> None:
    """Writes the plain ones of a piece, with the next numbers and versions in their order.

    Raises ``StoreError`` (``subscription-exists``).
    """
    control, ids = storing.control, prepared.piece.ids
    order, done = prepared.order, 0
    room = int((ids.ends - ids.begins)[order].sum()) + trees.text.size
    packed, texts = np.empty(MOST_ROWS, np.int64), np.empty(min(room, MOST_BYTES), np.uint8)
    while done < order.size:
        rows = order[done : done + MOST_ROWS]
        _, firsts, codes = np.unique(prepared.alike[rows], return_index=True, return_inverse=True)
        count, size = pack_subscriptions(*ids, *trees, rows, codes, packed, texts)
        storing.transaction.execute(statements.ALIKE_CLEAR)
        storing.transaction.executemany(statements.ALIKE_ADD, _alike_rows(prepared, rows[firsts], pattern_numbers))
        first, version = control.last_subscription, control.version
        with storing.refusing_known((ids.at(row) for row in rows.tolist()), first + 1):
            storing.transaction.execute(
                statements.SUBSCRIPTIONS_ADD, (apsw.carray(packed, stop=count), first, version, texts[:size])
            )
        control.last_subscription += count
        control.subscriptions += count
        control.version += count
        done += count


def _alike_rows(prepared: Prepared, rows: Places, pattern_numbers: Places) -> Iterator[tuple[object, ...]]:
    """What the rows of each code have in common; they are those of some rows."""
    piece = prepared.piece
    patterns = [None if code < 0 else int(pattern_numbers[code]) for code in prepared.patterns.codes[rows].tolist()]
    return zip(
        range(rows.size),
        piece.owners.at(rows),
        patterns,
        prepared.destinations.at(rows),
        piece.enabled[rows].tolist(),
        [None if each == np.inf else each for each in piece.expires[rows].tolist()],
        [each or None for each in piece.descriptions.at(rows)],
        strict=True,
    )


def write_matchers(storing: Storing, data: Bytes, leaves: Leaves, terms: Places, uses: Places, first: int) -> Places:
    """Writes the matchers of these terms, which are texts, with numbers from the first on, and how often each is used.

    Gives how often is written: ``MOST_USES`` times at most.
    """
    for done, packed, texts in _packed_matchers(storing, data, leaves, terms, uses):
        storing.transaction.execute(statements.MATCHERS_ADD, (packed, first + done - 1, texts))
    return np.minimum(uses, MOST_USES)


def find_matchers(storing: Storing, data: Bytes, leaves: Leaves, terms: Places) -> Iterator[tuple[int, int, int]]:
    """Those of these terms, which are texts, that are in the file: the term, its number, and how often it is used."""
    for done, packed, texts in _packed_matchers(storing, data, leaves, terms, np.zeros(terms.size, np.int64)):
        for place, number, uses in storing.transaction.execute(statements.MATCHERS_FIND, (packed, texts)):
            yield int(terms[done + place - 1]), number, uses


def _packed_matchers(
    storing: Storing, data: Bytes, leaves: Leaves, terms: Places, uses: Places
) -> Iterator[tuple[int, object, Bytes]]:
    """How many terms come before those that are packed, their numbers and their texts; their forms are written."""
    keys, key_codes, key_firsts = leaves.keys[terms], np.zeros(terms.size, np.int32), np.zeros(terms.size, np.int32)
    number_texts(data, keys, keys + leaves.key_sizes[terms], key_codes, key_firsts)
    forms = key_codes.astype(np.int64) * _KINDS + leaves.kinds[terms]
    # SQLite takes a text of no bytes for none.
    room = max(min(int(leaves.text_sizes[terms].sum()), MOST_BYTES), 1)
    packed, texts = np.empty(MOST_ROWS, np.int64), np.empty(room, np.uint8)
    done = 0
    while done < terms.size:
        piece = slice(done, done + MOST_ROWS)
        _, firsts, codes = np.unique(forms[piece], return_index=True, return_inverse=True)
        count, size = pack_matchers(
            data, leaves.texts, leaves.text_sizes, uses[piece], terms[piece], codes, packed, texts
        )
        storing.transaction.execute(statements.FORMS_CLEAR)
        storing.transaction.executemany(statements.FORM_ADD, _forms(data, leaves, terms[piece][firsts]))
        yield done, apsw.carray(packed, stop=count), texts[: max(size, 1)]
        done += count


def _forms(data: Bytes, leaves: Leaves, terms: Places) -> Iterator[tuple[int, str, int]]:
    """The keys and kinds of terms, each with its place."""
    for code, term in enumerate(terms.tolist()):
        begin = int(leaves.keys[term])
        yield code, data[begin : begin + int(leaves.key_sizes[term])].tobytes().decode(), int(leaves.kinds[term])
