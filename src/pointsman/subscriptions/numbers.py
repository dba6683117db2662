"""The live index of number comparisons: those that hold for a number stand together in the order of their bounds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

from pointsman.conditions import NumberComparison
from pointsman.conditions.compiler import number_of
from pointsman.conditions.nodes import Operator

BLOCK = 1000
"""Bounds that stand in one list; twice as many are divided, so that none takes long to change."""
_LAST = float("inf")

Bound = tuple[float, int]
"""The number of a comparison, and its own number in the index."""


class LiveNumberIndex:
    """Number comparisons with numbers, and the numbers of those that hold for the values under a key.

    >>> index = LiveNumberIndex()
    >>> index.add(NumberComparison("size", ">", 5), 7)
    >>> index.add(NumberComparison("size", "<=", 5), 9)
    >>> index.find("size", ["10", "big"]), index.find("size", ["5"])
    ([7], [9])

    Equal comparisons have one number. Not safe between threads: whoever changes it must be alone with it.
    """

    __slots__ = ("_keys",)

    def __init__(self) -> None:
        self._keys: dict[str | None, dict[Operator, _Bounds]] = {}

    def add(self, comparison: NumberComparison, number: int) -> None:
        """Adds a comparison; to add it again changes nothing."""
        operators = self._keys.setdefault(comparison.key, {})
        operators.setdefault(comparison.operator, _Bounds()).add((comparison.number, number))

    def remove(self, comparison: NumberComparison, number: int) -> bool:
        """Takes a comparison away; False if it was not there under this number."""
        bounds = self._keys.get(comparison.key, {}).get(comparison.operator)
        if bounds is None or not bounds.remove((comparison.number, number)):
            return False
        if not bounds.blocks:
            del self._keys[comparison.key][comparison.operator]
        if not self._keys[comparison.key]:
            del self._keys[comparison.key]
        return True

    def find(self, key: str | None, values: Iterable[str]) -> list[int]:
        """The numbers of the comparisons for this very key that hold for one of the values, ascending, each once."""
        operators = self._keys.get(key)
        if operators is None:
            return []
        found: set[int] = set()
        for number in {number for value in values if (number := number_of(value)) is not None}:
            for operator, bounds in operators.items():
                if operator in ("=", ">=", "<="):
                    found.update(bounds.between((number, -1), (number, _LAST)))
                if operator in (">", ">=", "<>"):
                    found.update(bounds.between((-_LAST, -1), (number, -1)))
                if operator in ("<", "<=", "<>"):
                    found.update(bounds.between((number, _LAST), (_LAST, _LAST)))
        return sorted(found)


class _Bounds:
    """Bounds of one key and operator, ascending, in lists of bounded length."""

    __slots__ = ("blocks", "firsts")

    def __init__(self) -> None:
        self.blocks: list[list[Bound]] = []
        self.firsts: list[Bound] = []
        """The first of each of the blocks."""

    def add(self, bound: Bound) -> None:
        if not self.blocks:
            self.blocks.append([])
            self.firsts.append(bound)
        place = max(bisect_right(self.firsts, bound) - 1, 0)
        block = self.blocks[place]
        at = bisect_left(block, bound)
        if at < len(block) and block[at] == bound:
            return
        insort(block, bound)
        self.firsts[place] = block[0]
        if len(block) > 2 * BLOCK:
            self.blocks.insert(place + 1, block[BLOCK:])
            self.firsts.insert(place + 1, block[BLOCK])
            del block[BLOCK:]

    def remove(self, bound: Bound) -> bool:
        place = bisect_right(self.firsts, bound) - 1
        block = self.blocks[place] if place >= 0 else []
        at = bisect_left(block, bound)
        if at == len(block) or block[at] != bound:
            return False
        del block[at]
        if block:
            self.firsts[place] = block[0]
        else:
            del self.blocks[place], self.firsts[place]
        return True

    def between(self, low: tuple[float, float], high: tuple[float, float]) -> Iterable[int]:
        """The numbers of those from ``low`` to before ``high``."""
        for place in range(max(bisect_right(self.firsts, low) - 1, 0), len(self.blocks)):
            block = self.blocks[place]
            if block[0] >= high:
                return
            yield from (number for _, number in block[bisect_left(block, low) : bisect_left(block, high)])
