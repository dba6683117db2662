"""Texts that stand in data, each from a beginning to an end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pointsman.matching.terms.kernels.compiled import Bytes, Flags, Places, compiled
from pointsman.subscriptions.bulk.terms import beginnings


class Texts(NamedTuple):
    """A column of texts in UTF-8; -1 where there is none."""

    data: Bytes
    begins: Places
    ends: Places

    def at(self, row: int) -> str:
        """The text of a row, which has one."""
        return self.data[self.begins[row] : self.ends[row]].tobytes().decode()

    def are_names(self, longest: int) -> Flags:
        """Which rows have a text of one character to that many, without NUL."""
        return are_names(self.data, self.begins, self.ends, longest)

    def sorted(self, rows: Places) -> Places:
        """The rows in the order of their texts, as far as the eight bytes go that follow on what all have in common."""
        begins, ends = self.begins[rows], self.ends[rows]
        shared = shared_beginning(self.data, begins, ends)
        return rows[np.argsort(beginnings(self.data, begins + shared, ends - begins - shared), kind="stable")]


@compiled
def are_names(data: Bytes, begins: Places, ends: Places, longest: int) -> Flags:
    """As ``Texts.are_names``."""
    found = np.zeros(begins.size, np.bool_)
    for row in range(begins.size):
        characters = 0
        if begins[row] >= 0:
            for place in range(begins[row], ends[row]):
                if data[place] == 0:
                    characters = longest + 1
                # The bytes of a character after its first are none of their own.
                elif data[place] & 0xC0 != 0x80:
                    characters += 1
        found[row] = 0 < characters <= longest
    return found


@compiled
def shared_beginning(data: Bytes, begins: Places, ends: Places) -> int:
    """How many bytes all texts have in common at their beginning."""
    shared = 0 if begins.size == 0 else ends[0] - begins[0]
    for row in range(begins.size):
        shared = min(shared, ends[row] - begins[row])
        place = 0
        while place < shared and data[begins[row] + place] == data[begins[0] + place]:
            place += 1
        shared = place
    return shared
