"""How far the walk through a trie gets with the beginnings of subjects, which are few in a hierarchy."""

from __future__ import annotations

from typing import Any, NamedTuple

from pointsman.matching.live_node import TrieNode
from pointsman.matching.live_walk import advance, end, finish

LONGEST = 4
"""Tokens of a beginning; of short subjects it is all but the last token."""
MOST = 8_192
"""Beginnings that are known at a time."""
LARGEST = 64
"""One that more values or nodes come of is not kept, so that all together stay a matter of megabytes."""


class Reached(NamedTuple):
    """What comes of a beginning. Nobody changes it."""

    nodes: list[TrieNode]
    values: list[Any]
    """Of patterns that match whatever follows."""
    closing: list[Any]
    """Of patterns that match besides when one more token follows, whichever it is."""
    branching: list[TrieNode]
    """Those of the nodes that ask which token it is."""


Known = dict[tuple[str, ...], Reached]


class Prefixes:
    """The plain walk through a trie, which takes up where it got with an equal beginning.

    ``walk`` is for any thread, at any time; ``forget`` is for the holder of the writers' lock and comes after each
    change of the trie. A walk keeps what it finds among what was known when it began, which nobody reads any more once
    a change has been made meanwhile.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: Known = {}

    def forget(self) -> None:
        """Forgets everything, and what walks under way are going to keep."""
        self._known = {}

    def walk(self, root: TrieNode, tokens: list[str], many_minimum: int, found: list[Any]) -> None:
        """The same as the function ``walk``; there must be a token."""
        known = self._known
        last = tokens.pop()
        beginning = tuple(tokens[:LONGEST])
        reached = known.get(beginning)
        if reached is None:
            reached = _reach(root, beginning, many_minimum, known)
        nodes, values, closing, branching = reached
        found += values
        if len(tokens) > LONGEST:
            finish(advance(nodes, tokens[LONGEST:], found), last, many_minimum, found)
            return
        found += closing
        for node in branching:
            child = node.get(last)
            if child is not None:
                if type(child) is tuple:
                    found += child
                else:
                    end(child, many_minimum, found)


def _reach(root: TrieNode, beginning: tuple[str, ...], many_minimum: int, known: Known) -> Reached:
    values: list[Any] = []
    nodes = advance([root], beginning, values)
    closing: list[Any] = []
    for node in nodes:
        tail, child = node.tail, node.one
        if tail is not None:
            closing += tail
        if child is not None:
            end(child, many_minimum, closing)
    reached = Reached(nodes, values, closing, [node for node in nodes if node])
    if len(nodes) + len(values) + len(closing) <= LARGEST:
        if len(known) >= MOST:
            known.clear()
        known[beginning] = reached
    return reached
