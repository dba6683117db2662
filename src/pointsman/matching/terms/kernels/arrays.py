"""The arrays that compiled code reads and writes, by name."""

from __future__ import annotations

from typing import NamedTuple

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Ids, Places, Words

LAST = 1 << 32
"""Marks the last term of a list, beside its space."""


class TermArrays(NamedTuple):
    """The frozen index. Terms are in the order of their anchors; the bare ones are last, by space."""

    data: Bytes
    records: Places
    """For each term, where its pattern begins, and its space with ``LAST`` or without; one more at the end."""
    slots: Words
    sieve: Words
    kinds: Ids
    """For each space, a bit for each kind of anchor in it."""
    beginning_offsets: Ids
    beginnings: Ids
    """For each space, the sizes of its literal beginnings, ascending."""
    ending_offsets: Ids
    endings: Ids
    bare_offsets: Ids
    bare_sizes: Ids
    """For each space, the characters its bare terms need: first of those that need exactly so many, then at least."""
    bare_open: Flags
    powers: Words


class Texts(NamedTuple):
    """A block of rows as the distinct texts in it: the values first, then the lexemes."""

    row_offsets: Places
    """Where the values of each row begin among all values; one more at the end."""
    value_texts: Ids
    """The text of each value; -1 when it can interest no term."""
    lexeme_offsets: Places
    """Where the lexemes of each distinct value begin; one more at the end."""
    lexeme_texts: Ids
    """The text of each lexeme, from 0 for the first lexeme."""
    data: Bytes
    begins: Places
    ends: Places
    spaces: Ids


class Notes(NamedTuple):
    """Parts that may be anchors, hashed, each with its text; or a space to find bare terms in, its text inverted."""

    values: Words
    texts: Places


class Search(NamedTuple):
    """What a search needs, and what it writes on."""

    ticket: int
    """A number above all that are in ``seen``; each text takes one."""
    as_one: bool
    """Whether what an earlier text has found is not found again; the room for all terms is enough then."""
    seen: Places
    """For each term two places: who last saw the list that begins with it, and who last found it."""
    counts: Places
    """The terms found for each text."""
    found: Ids
