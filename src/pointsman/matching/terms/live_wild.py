"""Patterns with wildcards that come and go: by their literal beginning, their literal end, and a literal in between.

A pattern is filed under its beginning, cut to a round size, or under none if that is short and the end is longer; where
many share one, they are filed once more under their ends, then under the short beginnings, and where many share both,
under the first characters of the longest literal between them, and then under more and more of these. A text looks up
its own beginnings, ends and stretches, of those sizes that occur: each costs a step into memory, for which short ones
tell too little. What is found is compared with the text, so that it does not matter here how good a choice was: only
how many patterns are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pointsman.matching.terms.glob import ANY_NUMBER, ANY_ONE, glob_matches

FEW = 3
"""So many patterns are compared one by one before they are filed again."""
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Characters of a beginning or an end by which patterns are filed."""
SHORT = 4
"""A beginning of fewer characters is short."""
STRETCHES = ((1, 3, 6, 12), (1, 2, 3, 4, 5, 6, 7, 8, 10, 14), (1, 4, 8, 12, 16, 24, 32))
"""Characters of a literal between them, level by level."""
_BEGINNING, _END, _SHORT, _BETWEEN = range(4)
_LAST = _BETWEEN + len(STRETCHES) - 1
_LONGEST = 32


def _rounded(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """For each length of a literal, the largest of the sizes that it has; 0 if it has none."""
    return tuple(max((size for size in sizes if size <= length), default=0) for length in range(_LONGEST + 1))


_ROUND = _rounded(SIZES)
_ROUND_STRETCHES = tuple(map(_rounded, STRETCHES))

Entry = tuple[int, str]
Bucket = Entry | dict[int, str]
"""One pattern with its number, or several."""


class Wildcards:
    """Patterns of one key, each with a number of its own; not safe between threads."""

    __slots__ = ("children", "lengths", "level", "stretch")

    def __init__(self, level: int = _BEGINNING, stretch: str = "") -> None:
        self.level = level
        self.stretch = stretch
        """What all of them have between their ends, as far as that is known."""
        self.children: dict[str, Bucket | Wildcards] = {}
        self.lengths: dict[int, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether there is no pattern."""
        return not self.children

    def add(self, pattern: str, number: int) -> None:
        """One more pattern; the number must not be there."""
        literals = _literals(pattern)
        node = self
        part = _part(literals, node.level)
        while isinstance(child := node.children.get(part), Wildcards):
            node = child
            part = _part(literals, node.level)
        if child is None:
            node.children[part] = (number, pattern)
            node.lengths[len(part)] = node.lengths.get(len(part), 0) + 1
            return
        several = dict([child]) if isinstance(child, tuple) else child
        several[number] = pattern
        crowded = len(several) > FEW and node.level < _LAST and (part or node.level < _BETWEEN)
        node.children[part] = node.divided(several, part) if crowded else several

    def remove(self, pattern: str, number: int) -> bool:
        """Takes a pattern away; False if it was not there under this number."""
        return self.take_away(_literals(pattern), pattern, number)

    def take_away(self, literals: list[str], pattern: str, number: int) -> bool:
        """Takes a pattern of these literals away from here."""
        part = _part(literals, self.level)
        child = self.children.get(part)
        if isinstance(child, Wildcards):
            removed = child.take_away(literals, pattern, number)
        elif isinstance(child, dict):
            removed = child.get(number) == pattern
            if removed:
                del child[number]
        else:
            removed = child == (number, pattern)
            child = {} if removed else child
        if child.is_empty if isinstance(child, Wildcards) else not child:
            self._forget(part)
        return removed

    def _forget(self, part: str) -> None:
        """Nothing is filed under this part any more, if anything was."""
        if self.children.pop(part, None) is not None:
            self.lengths[len(part)] -= 1
            if not self.lengths[len(part)]:
                del self.lengths[len(part)]

    def find(self, text: str, found: list[int]) -> None:
        """Appends the numbers of the patterns that match the whole text."""
        size = len(text)
        waiting = [self]
        for node in waiting:
            parts: Iterable[str]
            if node.level in (_BEGINNING, _SHORT):
                parts = [text[:length] for length in node.lengths if length <= size]
            elif node.level == _END:
                parts = [text[size - length :] for length in node.lengths if length <= size]
            else:
                parts = node.stretches(text)
            filed: Iterator[Any] = filter(None, map(node.children.get, parts))
            for child in filed:
                if isinstance(child, tuple):
                    if fits(child[1], text):
                        found.append(child[0])
                elif isinstance(child, dict):
                    found += [number for number, pattern in child.items() if fits(pattern, text)]
                else:
                    waiting.append(child)

    def divided(self, several: dict[int, str], part: str) -> Wildcards:
        """What takes the place of several patterns that are filed under a part here."""
        # Without an end, what they begin with is no longer, and they are filed by it already.
        level = _BETWEEN if self.level == _END and not part else self.level + 1
        made = Wildcards(level, part if self.level >= _BETWEEN else "")
        for number, pattern in several.items():
            made.add(pattern, number)
        return made

    def stretches(self, text: str) -> set[str]:
        """What patterns that match the text may be filed under here."""
        if not self.stretch:
            return {text[at : at + length] for length in self.lengths for at in range(len(text) - length + 1)}
        parts = set()
        at = text.find(self.stretch)
        while at >= 0:
            parts.update([text[at : at + length] for length in self.lengths])
            at = text.find(self.stretch, at + 1)
        return parts


def fits(pattern: str, text: str) -> bool:
    """As ``glob_matches``, for a pattern with at least one wildcard; quick for those that have no ``?``.

    Each literal between two ``*`` is taken at the first place where it stands: what is left is then the longest, so
    that no other choice could do better.
    """
    if ANY_ONE in pattern:
        stars = pattern.count(ANY_NUMBER)
        spare = len(text) + stars - len(pattern)
        if spare < 0 or (spare and not stars):
            return False
        literals = _literals(pattern)
        return text.startswith(literals[0]) and text.endswith(literals[-1]) and glob_matches(pattern, text)
    first, *between, last = pattern.split(ANY_NUMBER)
    place, end = len(first), len(text) - len(last)
    if place > end or not text.startswith(first) or not text.endswith(last):
        return False
    for literal in between:
        place = text.find(literal, place, end)
        if place < 0:
            return False
        place += len(literal)
    return True


def _literals(pattern: str) -> list[str]:
    """What is before, between and after the wildcards; at least two texts, some of them empty."""
    return pattern.replace(ANY_ONE, ANY_NUMBER).split(ANY_NUMBER)


def _part(literals: list[str], level: int) -> str:
    """What of a pattern's literals it is filed under."""
    beginning, end = literals[0], literals[-1]
    if level == _BEGINNING:
        if len(beginning) < SHORT and len(beginning) < len(end):
            return ""
        return beginning[: _ROUND[min(len(beginning), _LONGEST)]]
    if level == _END:
        return end[len(end) - _ROUND[min(len(end), _LONGEST)] :]
    if level == _SHORT:
        return beginning[: _ROUND[min(len(beginning), _LONGEST)]]
    longest = max(literals[1:-1], key=len, default="")
    return longest[: _ROUND_STRETCHES[level - _BETWEEN][min(len(longest), _LONGEST)]]
