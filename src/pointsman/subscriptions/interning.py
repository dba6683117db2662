"""Matchers and subject patterns by their numbers, each stored once, within one transaction."""

from __future__ import annotations

from array import array

import apsw

from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions import statements
from pointsman.subscriptions.control import Changer, Control
from pointsman.subscriptions.leaf_rows import LeafRow
from pointsman.subscriptions.noting import Noted

MOST_REMEMBERED = 500_000
"""Matchers whose numbers are kept in memory."""
_COUNT_BITS = 20


class Matchers:
    """Numbers for matchers. What is new is written by ``flush``, with how often each is used."""

    def __init__(self, transaction: Changer, control: Control, noted: Noted | None = None) -> None:
        self._transaction = transaction
        self._control = control
        self._noted = noted
        self._numbers: dict[LeafRow, int] = {}
        self._new: list[tuple[LeafRow, int]] = []
        self.uses: dict[int, int] = {}
        """How often a matcher is used, of those that were asked for; what is not flushed is not counted."""
        self.knows_all = transaction.first(statements.MATCHER_ANY) is None
        """Whether there are none in the file but those that are known here."""

    def number(self, row: LeafRow) -> int:
        """The number of a matcher, a new one if it has none."""
        found = self._numbers.get(row)
        return self._find(row) if found is None else found

    def _find(self, row: LeafRow) -> int:
        stored = None if self.knows_all else self._transaction.first(statements.MATCHER_FIND, row)
        if stored is None:
            self._control.last_matcher = number = self._control.last_matcher + 1
            self._new.append((row, number))
            self.uses[number] = 0
        else:
            number, self.uses[number] = stored
        self._numbers[row] = number
        return number

    def flush(self, counts: dict[int, int]) -> None:
        """Writes the new ones, and that each is used so many times more, below 2**20; empties the counts."""
        rows = [(*row, number, counts.pop(number, 0)) for row, number in self._new]
        if rows:
            self._transaction.executemany(statements.MATCHER_ADD, rows)
            self.uses.update((row[3], row[4]) for row in rows)
            if self._noted is not None:
                self._noted.matchers += self._new
            self._new.clear()
        if counts:
            packed = array("q", [number << _COUNT_BITS | counts[number] for number in sorted(counts)])
            self._transaction.execute(statements.MATCHERS_USE, (apsw.carray(packed),))
            for number, count in counts.items():
                self.uses[number] += count
        if len(self._numbers) > MOST_REMEMBERED:
            self.forget_all()

    def forget_all(self) -> None:
        """What is known is found in the file again: there was too much of it, or others have written there."""
        self._numbers.clear()
        self.uses.clear()
        self.knows_all = False

    def forget(self, row: LeafRow) -> None:
        """One was removed."""
        self.uses.pop(self._numbers.pop(row, 0), None)


class Patterns:
    """Numbers for subject patterns, likewise."""

    def __init__(self, transaction: Changer, control: Control, noted: Noted | None = None) -> None:
        self._transaction = transaction
        self._control = control
        self._noted = noted
        self._numbers: dict[tuple[str, str], int] = {}
        self.uses: dict[int, int] = {}

    def number(self, pattern: Pattern) -> int:
        """The number of a pattern; a new one is written with it, used by none."""
        row = (pattern.text, pattern.dialect.name)
        found = self._numbers.get(row)
        return self._find(row) if found is None else found

    def _find(self, row: tuple[str, str]) -> int:
        stored = self._transaction.first(statements.PATTERN_FIND, row)
        if stored is None:
            self._control.last_pattern = number = self._control.last_pattern + 1
            self._transaction.execute(statements.PATTERN_ADD, (*row, number))
            if self._noted is not None:
                self._noted.patterns.append((row, number))
            self.uses[number] = 0
        else:
            number, self.uses[number] = stored
        self._numbers[row] = number
        return number

    def flush(self, counts: dict[int, int]) -> None:
        """Writes that each is used so many times more."""
        self._transaction.executemany(statements.PATTERN_USE, sorted(counts.items()))
        for number, count in counts.items():
            self.uses[number] += count
        if len(self._numbers) > MOST_REMEMBERED:
            self._numbers.clear()
            self.uses.clear()

    def forget(self, row: tuple[str, str]) -> None:
        """One was removed."""
        self.uses.pop(self._numbers.pop(row, 0), None)
