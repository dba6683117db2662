"""From what holds for texts to what holds for rows, and from terms to the ids filed under them."""

from __future__ import annotations

from pointsman.matching.terms.kernels.arrays import Texts
from pointsman.matching.terms.kernels.compiled import Flags, Ids, Places, compiled
from pointsman.matching.terms.kernels.find import FULL


@compiled
def label_values(row_offsets: Places, present: Flags, valid: Flags, key_ids: Ids, kinds: Ids, labels: Ids) -> None:
    """Writes the key of each value, 0 for one that no term names, and -1 where no term can hold."""
    labels[:] = -1
    any_key = kinds[0] | kinds[1]
    for row in range(present.size):
        if not present[row]:
            continue
        for value in range(row_offsets[row], row_offsets[row + 1]):
            key = key_ids[value]
            if valid[value] and (any_key or (key and kinds[2 * key] | kinds[2 * key + 1])):
                labels[value] = key


@compiled
def append_terms(terms: Ids, start: int, stop: int, stamp: int, seen: Places, joined: Ids, count: int) -> int:
    """Appends the terms of a text that its row has not yet, and counts on; ``FULL`` when there is no room."""
    for place in range(start, stop):
        term = terms[place]
        if seen[2 * term + 1] != stamp:
            if count == joined.size:
                return FULL
            seen[2 * term + 1] = stamp
            joined[count] = term
            count += 1
    return count


@compiled
def join_rows(
    first: int,
    texts: Texts,
    text_offsets: Places,
    terms: Ids,
    ticket: int,
    seen: Places,
    offsets: Places,
    joined: Ids,
) -> int:
    """Writes the distinct terms of each row from the first on, as far as there is room, and how many rows it did.

    ``ticket``: a number above all in ``seen``; each row takes one.
    """
    count = 0
    distinct_values = texts.lexeme_offsets.size - 1
    offsets[0] = 0
    for row in range(first, texts.row_offsets.size - 1):
        stamp = ticket + row - first
        for value in range(texts.row_offsets[row], texts.row_offsets[row + 1]):
            text = texts.value_texts[value]
            if text < 0:
                continue
            start, stop = text_offsets[text], text_offsets[text + 1]
            count = append_terms(terms, start, stop, stamp, seen, joined, count)
            for lexeme in range(texts.lexeme_offsets[text], texts.lexeme_offsets[text + 1]):
                if count == FULL:
                    break
                part = distinct_values + texts.lexeme_texts[lexeme]
                start, stop = text_offsets[part], text_offsets[part + 1]
                count = append_terms(terms, start, stop, stamp, seen, joined, count)
            if count == FULL:
                return row - first
        offsets[row - first + 1] = count
    return texts.row_offsets.size - 1 - first


@compiled
def name_rows(
    first: int, row_offsets: Places, terms: Ids, filed_offsets: Places, filed: Ids, offsets: Places, named: Ids
) -> int:
    """Writes the ids filed under the terms of each row, ascending, as ``join_rows`` does; no id is under two terms."""
    count = 0
    offsets[0] = 0
    for row in range(first, row_offsets.size - 1):
        start = count
        for place in range(row_offsets[row], row_offsets[row + 1]):
            term = terms[place]
            size = filed_offsets[term + 1] - filed_offsets[term]
            if count + size > named.size:
                return row - first
            named[count : count + size] = filed[filed_offsets[term] : filed_offsets[term + 1]]
            count += size
        named[start:count].sort()
        offsets[row - first + 1] = count
    return row_offsets.size - 1 - first
