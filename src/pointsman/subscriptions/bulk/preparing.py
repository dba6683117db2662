"""A piece of a file is looked through, without the file of the queue: what of it is plain, and what that comes to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pointsman.conditions.serialize import MAX_NESTING, MAX_WILD_BYTES
from pointsman.errors import PointsmanError
from pointsman.matching.terms.kernels.compiled import Flags, Ids, Places
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions.bulk.conditions import MOST_LEAVES, Read, Room
from pointsman.subscriptions.bulk.pieces import Distinct, Piece
from pointsman.subscriptions.bulk.term_table import FoundTerms, TermTable
from pointsman.subscriptions.bulk.trees import read_conditions, room_for
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import LONGEST_DESCRIPTION, LONGEST_NAME, check_name, checked_destinations

LATEST = 1e12
MOST_REMEMBERED = 100_000
"""Patterns that are read once."""


class Prepared(NamedTuple):
    """A piece, ready to be stored."""

    piece: Piece
    plain: Flags
    """Those of which the rest is known; the others go the long way."""
    order: Places
    """The plain ones in the order of their ids, which is that of the index by id."""
    read: Read
    found: FoundTerms
    """The terms of the leaves that were read."""
    destinations: Distinct
    """As they are stored."""
    patterns: Distinct
    alike: Places
    """A code for each row: those of the same code differ in their ids and conditions only."""


class Preparing:
    """Prepares pieces. Not safe between threads.

    With ``remember``, terms go on from one piece to the next; else each begins with new ones.
    """

    def __init__(self, limits: Limits, *, remember: bool = True) -> None:
        self._terms = TermTable()
        self._remember = remember
        self._room = Room(
            min(limits.leaves, MOST_LEAVES), min(limits.depth, MAX_NESTING), limits.characters, MAX_WILD_BYTES
        )
        self._patterns: dict[tuple[str, str | None], Pattern | None] = {}

    def prepare(self, piece: Piece) -> Prepared:
        """What there is to be known of a piece; what is wrong is found when it goes the long way."""
        destinations = Distinct(piece.destinations.codes, [_names(each) for each in piece.destinations.values])
        patterns = _joined(piece.patterns.codes, [self._pattern(each) for each in piece.patterns.values])
        plain = piece.plain & _is_right(piece) & _checked(destinations, lambda text: text is not None)
        plain &= (patterns.codes < 0) | _checked(patterns, lambda pattern: pattern is not None)
        plain &= (piece.begins >= 0) | (piece.patterns.codes >= 0)
        read = room_for(piece.begins, piece.ends)
        read_conditions(piece.data, piece.begins, piece.ends, piece.patterns.codes < 0, read, self._room, plain)
        found = self._terms.find(piece.data, read.leaves, int(read.leaf_offsets[-1]), self._remember)
        order = piece.ids.sorted(np.flatnonzero(plain))
        return Prepared(piece, plain, order, read, found, destinations, patterns, _alike(piece))

    def _pattern(self, given: tuple[str, str | None]) -> Pattern | None:
        """The pattern of a text and a dialect, which may not be chosen; None if it is none."""
        if given not in self._patterns:
            if len(self._patterns) > MOST_REMEMBERED:
                self._patterns.clear()
            self._patterns[given] = _pattern(*given)
        return self._patterns[given]


def _joined(codes: Ids, patterns: list[Pattern | None]) -> Distinct:
    """A column of patterns, each once: one that names the usual dialect is that of the same text that names none."""
    known: dict[tuple[str, str] | None, int] = {}
    keys = [None if each is None else (each.text, each.dialect.name) for each in patterns]
    new_codes = np.array([known.setdefault(key, len(known)) for key in keys] + [-1], np.int32)
    return Distinct(new_codes[codes], list(dict(zip(keys, patterns, strict=True)).values()))


def _alike(piece: Piece) -> Places:
    """The codes of ``Prepared.alike``."""
    columns = [piece.owners.codes, piece.destinations.codes, piece.patterns.codes, piece.descriptions.codes]
    found = np.zeros(piece.plain.size, np.int64)
    for column in (*columns, piece.enabled, piece.expires):
        if column.size and (column != column[0]).any():
            values, codes = np.unique(column, return_inverse=True)
            _, found = np.unique(found * values.size + codes, return_inverse=True)
    return found


def _checked(column: Distinct, is_right: Callable[[Any], bool]) -> Flags:
    """Which rows have a value that is right."""
    right = np.array([is_right(value) for value in column.values] + [False], np.bool_)
    return right[column.codes]


def _is_right(piece: Piece) -> Flags:
    """Which rows have an id, an owner, a time of expiry and a description that are right."""
    right = piece.ids.are_names(LONGEST_NAME) & _checked(piece.owners, _is_name)
    right &= (piece.expires == np.inf) | ((piece.expires >= 0) & (piece.expires < LATEST))
    right &= (piece.descriptions.codes < 0) | _checked(
        piece.descriptions, lambda text: len(text) <= LONGEST_DESCRIPTION
    )
    return right


def _is_name(name: str) -> bool:
    try:
        check_name(name, "owner")
    except PointsmanError:
        return False
    return True


def _names(given: Any) -> str | None:
    """The text of destinations; None if there is something wrong with them."""
    try:
        return json.dumps(
            checked_destinations(json.loads(given) if isinstance(given, str) else given), ensure_ascii=False
        )
    except PointsmanError:
        return None


def _pattern(text: str, dialect: str | None) -> Pattern | None:
    try:
        return Pattern(text, dialect)
    except PointsmanError:
        return None
