"""Which of many patterns may have subjects in common with one: most pairs are told apart by their first or last tokens.

Two tries, one of the tokens from the left and one from the right, each as far as a token can be given a place: up to
the first wildcard for many.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from pointsman.patterns import Pattern
from pointsman.patterns.nodes import Glob, Literal, Many, Nodes

Item = TypeVar("Item")


class Near(Generic[Item]):
    """Items by patterns of one dialect."""

    __slots__ = ("_backward", "_forward")

    def __init__(self) -> None:
        self._forward: _Level[Item] = _Level()
        self._backward: _Level[Item] = _Level()

    def add(self, pattern: Pattern, item: Item) -> None:
        """Adds an item under its pattern."""
        self._forward.add(*_begin(pattern.nodes), item)
        self._backward.add(*_begin(pattern.nodes[::-1]), item)

    def find(self, pattern: Pattern) -> list[Item]:
        """All items whose patterns have a subject in common with this one, and few others; in no particular order."""
        ways = (
            self._forward.reach(*_begin(pattern.nodes)),
            self._backward.reach(*_begin(pattern.nodes[::-1])),
        )
        items, levels = min(ways, key=lambda way: len(way[0]) + sum(level.size for level in way[1]))
        found = list(items)
        waiting = list(levels)
        while waiting:
            level = waiting.pop()
            found += level.closed + level.open
            waiting += level.children.values()
        return found


def _begin(nodes: Nodes) -> tuple[list[str | None], bool]:
    """The tokens up to the first wildcard for many, None for those of any text; and whether that is all."""
    tokens: list[str | None] = []
    for node in nodes:
        if isinstance(node, Many) or (isinstance(node, Glob) and node.crosses):
            return tokens, False
        tokens.append(node.text if isinstance(node, Literal) else None)
    return tokens, True


class _Level(Generic[Item]):
    __slots__ = ("children", "closed", "open", "size")

    def __init__(self) -> None:
        self.children: dict[str | None, _Level[Item]] = {}
        self.closed: list[Item] = []
        self.open: list[Item] = []
        self.size = 0

    def add(self, tokens: list[str | None], whole: bool, item: Item) -> None:
        level = self
        level.size += 1
        for token in tokens:
            level = level.children.setdefault(token, _Level())
            level.size += 1
        (level.closed if whole else level.open).append(item)

    def reach(self, tokens: list[str | None], whole: bool) -> tuple[list[Item], list[_Level[Item]]]:
        """The items that may meet these tokens, and the levels of which all items may."""
        items: list[Item] = []
        levels = [self]
        for token in tokens:
            items += [item for level in levels for item in level.open]
            levels = [following for level in levels for following in level.following(token)]
        if not whole:
            return items, levels
        return items + [item for level in levels for item in level.open + level.closed], []

    def following(self, token: str | None) -> list[_Level[Item]]:
        if token is None:
            return list(self.children.values())
        return [self.children[key] for key in (token, None) if key in self.children]
