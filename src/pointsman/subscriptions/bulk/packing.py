"""Rows for SQLite in one list of numbers and one text each, so that one statement stores many without Python.

A number says where the text of a row begins, from 1, how long its parts are, and by a code what else is in the row,
which stands in a table for the time being. ``statements.SUBSCRIPTIONS_ADD`` and ``MATCHERS_ADD`` take them apart.
"""

from __future__ import annotations

from pointsman.matching.terms.kernels.compiled import Bytes, Places, compiled
from pointsman.subscriptions.bulk.terms import copy_text

MOST_ROWS = 1 << 15
"""Rows that are packed together: their codes are below that."""
MOST_BYTES = 1 << 24
"""Bytes of their texts."""
LONGEST_TREE = (1 << 12) - 1
MOST_USES = (1 << 11) - 1
"""How often a new matcher can be said to be used."""


@compiled
def pack_subscriptions(
    ids: Bytes,
    begins: Places,
    ends: Places,
    trees: Bytes,
    tree_offsets: Places,
    rows: Places,
    codes: Places,
    packed: Places,
    texts: Bytes,
) -> tuple[int, int]:
    """Packs rows as long as there is room for their ids and trees: how many, and how many bytes they take."""
    size = 0
    for place in range(rows.size):
        row = rows[place]
        id_size = ends[row] - begins[row]
        tree_size = tree_offsets[row + 1] - tree_offsets[row]
        if size + id_size + tree_size > texts.size:
            return place, size
        packed[place] = ((((size + 1) << 10 | id_size) << 12 | tree_size) << 15) | codes[place]
        size = copy_text(ids, begins[row], id_size, texts, size)
        size = copy_text(trees, tree_offsets[row], tree_size, texts, size)
    return rows.size, size


@compiled
def pack_matchers(
    data: Bytes,
    begins: Places,
    sizes: Places,
    uses: Places,
    terms: Places,
    codes: Places,
    packed: Places,
    texts: Bytes,
) -> tuple[int, int]:
    """Packs matchers as long as there is room for their texts, likewise; they are used ``MOST_USES`` times at most."""
    size = 0
    for place in range(terms.size):
        term = terms[place]
        if size + sizes[term] > texts.size:
            return place, size
        packed[place] = ((((size + 1) << 11 | sizes[term]) << 15 | codes[place]) << 11) | min(uses[place], MOST_USES)
        size = copy_text(data, begins[term], sizes[term], texts, size)
    return terms.size, size
