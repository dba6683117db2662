"""A piece of a file is stored: what is plain by compiled code, and the rest one by one."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import apsw
import numpy as np

from pointsman.conditions.reading import MAX_NESTING, MAX_WILD_BYTES
from pointsman.errors import PointsmanError
from pointsman.matching.terms.kernels.compiled import Flags, Places
from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions import statements
from pointsman.subscriptions.bulk.conditions import MOST_LEAVES, Read, Room
from pointsman.subscriptions.bulk.known import KnownTerms
from pointsman.subscriptions.bulk.pieces import Distinct, Piece
from pointsman.subscriptions.bulk.trees import read_conditions, room_for
from pointsman.subscriptions.bulk.uses import Found, Rows, find_uses
from pointsman.subscriptions.gates import pattern_width
from pointsman.subscriptions.model import LONGEST_DESCRIPTION, LONGEST_NAME, check_name, checked_destinations
from pointsman.subscriptions.storing import Storing

LATEST = 1e12
MOST_REMEMBERED = 100_000
"""Patterns that are read once."""


class Adding:
    """Adds pieces within one transaction."""

    def __init__(self, storing: Storing) -> None:
        self._storing = storing
        limits = storing.limits
        self._room = Room(
            min(limits.leaves, MOST_LEAVES), min(limits.depth, MAX_NESTING), limits.characters, MAX_WILD_BYTES
        )
        self._known = KnownTerms(storing)
        self._patterns: dict[tuple[str, str], Pattern | None] = {}

    def add(self, piece: Piece) -> int:
        """Adds all subscriptions of a piece, and gives their number.

        Raises ``InputError`` with the place of one that is none, and ``StoreError`` (``subscription-exists``).
        """
        plain, read, names, patterns = self.read(piece)
        self._add_plain(piece, plain, read, names, patterns)
        odd = np.flatnonzero(piece.present & ~plain).tolist()
        for row in odd:
            self._storing.add(piece.read(row))
        if odd:
            self._known.is_new_to_file = False
        # The next numbers are not to be far from those that wait.
        self._storing.flush()
        return int(plain.sum()) + len(odd)

    def read(self, piece: Piece) -> tuple[Flags, Read, Distinct, Distinct]:
        """Which subscriptions of a piece are plain, and their conditions, destinations and patterns."""
        owners = _checked(piece.owners, _is_name)
        names = Distinct(piece.destinations.codes, [_names(each) for each in piece.destinations.values])
        patterns = Distinct(piece.patterns.codes, [self._pattern(each) for each in piece.patterns.values])
        plain = piece.plain & owners & _checked(names, lambda text: text is not None) & _right(piece)
        plain &= (piece.patterns.codes < 0) | _checked(patterns, lambda pattern: pattern is not None)
        plain &= (piece.begins >= 0) | (piece.patterns.codes >= 0)
        read = room_for(piece.begins, piece.ends)
        read_conditions(piece.data, piece.begins, piece.ends, piece.patterns.codes < 0, read, self._room, plain)
        return plain, read, names, patterns

    def _add_plain(self, piece: Piece, plain: Flags, read: Read, names: Distinct, patterns: Distinct) -> None:
        """Adds the plain ones, numbered in the order of their ids, which is that of the index by id."""
        control, ids = self._storing.control, piece.ids
        order = sorted(np.flatnonzero(plain).tolist(), key=ids.__getitem__)
        if not order:
            return
        rows = self._rows(piece, plain, patterns, order)
        first, places = control.last_subscription + 1, np.array(order)
        trees = self._write_uses(piece, read, rows, first)
        numbers = Distinct(rows.patterns, rows.pattern_numbers.tolist())
        sorted_ids = [ids[row] for row in order]
        columns = zip(
            range(first, first + len(order)),
            sorted_ids,
            piece.owners.at(places),
            numbers.at(places),
            trees.at(places),
            names.at(places),
            piece.enabled[places].tolist(),
            _expiry(piece, places),
            [piece.descriptions[row] or None for row in order],
            range(control.version + 1, control.version + 1 + len(order)),
            strict=True,
        )
        self._storing.write(columns, sorted_ids, first)
        control.last_subscription += len(order)
        control.subscriptions += len(order)
        control.version += len(order)

    def _pattern(self, given: tuple[str, str]) -> Pattern | None:
        """The pattern of a text and a dialect; None if it is none."""
        if given not in self._patterns:
            if len(self._patterns) > MOST_REMEMBERED:
                self._patterns.clear()
            self._patterns[given] = _pattern(*given)
        return self._patterns[given]

    def _rows(self, piece: Piece, plain: Flags, patterns: Distinct, order: list[int]) -> Rows:
        known = self._storing.patterns
        used = np.zeros(len(patterns.values), np.bool_)
        used[patterns.codes[plain & (patterns.codes >= 0)]] = True
        numbers = [known.number(each) if is_used else 0 for each, is_used in zip(patterns.values, used, strict=True)]
        places = np.zeros(plain.size, np.int64)
        places[order] = np.arange(len(order))
        return Rows(
            plain,
            np.ascontiguousarray(piece.enabled),
            places,
            np.ascontiguousarray(patterns.codes),
            np.array(numbers, np.int64),
            np.array([0 if each is None else pattern_width(each) for each in patterns.values], np.int32),
            np.array([known.uses[number] if number else 0 for number in numbers], np.int64),
        )

    def _write_uses(self, piece: Piece, read: Read, rows: Rows, first: int) -> Trees:
        """Writes the matchers and who uses them, and gives the trees."""
        storing, known = self._storing, self._known
        count = int(read.leaf_offsets[-1])
        terms = known.find(piece.data, read.leaves, count)
        before, pattern_uses = known.uses[: known.count].copy(), rows.pattern_uses.copy()
        found = Found(
            np.zeros(count + rows.plain.size, np.int64),
            np.zeros(int(read.sign_offsets[-1]) + 20 * count, np.uint8),
            np.zeros(rows.plain.size + 1, np.int64),
        )
        size = find_uses(read, terms, known.numbers, known.uses, known.widths, rows, found)
        known.write(before)
        more = dict(zip(rows.pattern_numbers.tolist(), (rows.pattern_uses - pattern_uses).tolist(), strict=True))
        storing.patterns.flush({number: each for number, each in more.items() if each})
        if size:
            packed = np.sort(found.uses[:size])
            storing.transaction.execute(statements.USES_ADD, (apsw.carray(packed), first))
        return Trees(found.trees.tobytes().decode("ascii"), found.tree_offsets)


class Trees(NamedTuple):
    """The trees of all rows after each other."""

    text: str
    offsets: Places

    def at(self, rows: Places) -> list[str | None]:
        """Those of these rows; None for one without."""
        begins, ends = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        return [self.text[begin:end] or None for begin, end in zip(begins, ends, strict=True)]


def _checked(column: Distinct, is_right: Any) -> Flags:
    """Which rows have a value that is right."""
    right = np.array([bool(is_right(value)) for value in column.values] + [False], np.bool_)
    return right[column.codes]


def _right(piece: Piece) -> Flags:
    """Which rows have an id, a time of expiry and a description that are right."""
    sizes = np.fromiter(map(len, piece.ids), np.int64, len(piece.ids))
    right: Flags = (sizes > 0) & (sizes <= LONGEST_NAME)
    right &= (piece.expires == np.inf) | ((piece.expires >= 0) & (piece.expires < LATEST))
    if "\0" in "".join(piece.ids):
        right &= np.array(["\0" not in id for id in piece.ids], np.bool_)
    if piece.descriptions.count(None) < len(piece.descriptions):
        right &= np.array([len(each or "") <= LONGEST_DESCRIPTION for each in piece.descriptions], np.bool_)
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


def _pattern(text: str, dialect: str) -> Pattern | None:
    try:
        return Pattern(text, dialect)
    except PointsmanError:
        return None


def _expiry(piece: Piece, rows: Places) -> list[float | None]:
    """When each of these rows expires."""
    return [None if each == np.inf else each for each in piece.expires[rows].tolist()]
