"""Which of many patterns may have subjects in common with one: most pairs are told apart by their first or last tokens.

Two tries, one of the tokens from the left and one from the right, each as far as a token can be given a place: up to
the first wildcard for many.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Generic, TypeVar

from pointsman.patterns import Pattern
from pointsman.patterns.nodes import Glob, Literal, Many, Node, Nodes

Item = TypeVar("Item")


class Near(Generic[Item]):
    """Items by patterns of one dialect."""

    __slots__ = ("_backward", "_forward")

    def __init__(self) -> None:
        self._forward: _Level[tuple[Nodes, Item]] = _Level()
        self._backward: _Level[tuple[Nodes, Item]] = _Level()

    def add(self, pattern: Pattern, item: Item) -> None:
        """Adds an item under its pattern."""
        pair = (pattern.nodes, item)
        self._forward.add(*_begin(pattern.nodes), pair)
        self._backward.add(*_begin(pattern.nodes[::-1]), pair)

    def find(self, pattern: Pattern) -> Iterator[Item]:
        """All items whose patterns have a subject in common with this one, and few others; in no particular order."""
        nodes = pattern.nodes
        ways = self._forward.reach(*_begin(nodes)), self._backward.reach(*_begin(nodes[::-1]))
        items, levels = min(ways, key=lambda way: len(way[0]) + sum(level.size for level in way[1]))
        for each in chain(items, chain.from_iterable(map(_everything, levels))):
            if not _apart(each[0], nodes):
                yield each[1]


def _everything(level: _Level[Item]) -> Iterator[Item]:
    """The items of a level and of those below it."""
    waiting = [level]
    while waiting:
        level = waiting.pop()
        yield from level.closed
        yield from level.open
        waiting += level.children.values()


def _begin(nodes: Nodes) -> tuple[list[str | None], bool]:
    """The tokens up to the first wildcard for many, None for those of any text; and whether that is all."""
    tokens: list[str | None] = []
    for node in nodes:
        if isinstance(node, Many) or (isinstance(node, Glob) and node.crosses):
            return tokens, False
        tokens.append(node.text if isinstance(node, Literal) else None)
    return tokens, True


def _apart(one: Nodes, other: Nodes) -> bool:
    """Whether two tokens in the same place, parts of which are wildcards, begin or end with different texts."""
    for mine, yours in zip(one, other, strict=False):
        if isinstance(mine, Many) or isinstance(yours, Many):
            return False
        if not isinstance(mine, Glob) and not isinstance(yours, Glob):
            continue
        if _differ(_edge(mine, 0), _edge(yours, 0)):
            return True
        if any(isinstance(node, Glob) and node.crosses for node in (mine, yours)):
            return False
        if _differ(_edge(mine, -1)[::-1], _edge(yours, -1)[::-1]):
            return True
    return False


def _edge(node: Node, which: int) -> str:
    """The text that every token a node matches begins (0) or ends (-1) with."""
    part = node.text if isinstance(node, Literal) else node.parts[which] if isinstance(node, Glob) else ""
    return part if isinstance(part, str) else ""


def _differ(one: str, other: str) -> bool:
    length = min(len(one), len(other))
    return one[:length] != other[:length]


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
