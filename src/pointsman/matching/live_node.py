"""One node of the live index's trie, which readers look at while a writer changes it.

So every change is one assignment: a new branch is built first and then attached, an empty one is detached at its top,
and the values of a pattern are replaced as a whole, or are a dict whose keys a list takes over in one step.

A match of one subject among many patterns mostly waits for memory. So a node is a dict itself, and where one pattern
with a few values ends and no other goes on, there is no node but a leaf, the values alone. Most ends are leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pointsman.matching.live_glob import make_glob_test
from pointsman.patterns.nodes import Glob, Literal, Many, Node, Nodes, One
from pointsman.patterns.pattern import Pattern

Values = tuple[Any, ...] | dict[Any, None]
"""The values of one pattern: a few as a tuple, for that is read fastest; many as the keys of a dict."""

Leaf = tuple[Any, ...] | list[Any]
"""The values of the one pattern that leads here. A tuple: of a pattern that ends here; a list, which nobody changes: of
one that ends here with a many-wildcard."""


class TrieNode(dict[str, "TrieNode | Leaf"]):
    """What patterns go on with after the same beginning; as a dict, what comes after a literal token.

    In the place of a leaf a node may come; in the place of a node only nothing, when its last pattern goes.
    """

    __slots__ = ("ending", "globs", "many", "one", "tail", "whole")

    one: TrieNode | Leaf | None
    """After a wildcard for one token."""
    many: TrieNode | None
    """After a many-wildcard that is not the end of its pattern."""
    globs: dict[Glob, tuple[Callable[[str], bool], TrieNode]] | None
    """After a glob within one token, with the test of that token."""
    ending: Values | None
    """Of the pattern that ends here."""
    tail: Values | None
    """Of the pattern that ends here with a many-wildcard."""
    whole: dict[Nodes, tuple[Pattern, Values]] | None
    """Of patterns with a glob across separators, which tokens cannot decide, after their literal beginning."""

    def __init__(self) -> None:
        self.one = None
        self.many = None
        self.globs = None
        self.ending = None
        self.tail = None
        self.whole = None

    @property
    def load(self) -> int:
        """How many branches go on from here and how many patterns end."""
        single = sum(each is not None for each in (self.one, self.many, self.ending, self.tail))
        return len(self) + len(self.globs or ()) + len(self.whole or ()) + single

    def follow(self, step: Node) -> TrieNode | Leaf | None:
        """What comes one step further."""
        match step:
            case Literal(text):
                return self.get(text)
            case One():
                return self.one
            case Many():
                return self.many
            case Glob():
                edge = self.globs.get(step) if self.globs else None
                return edge[1] if edge else None

    def attach(self, step: Node, branch: TrieNode | Leaf) -> None:
        """Puts a branch here, in place of the one that was; readers see all of it or nothing.

        Leaves come after literal tokens and wildcards for one token.
        """
        match step, branch:
            case Literal(text), _:
                self[sys.intern(text)] = branch
            case One(), _:
                self.one = branch
            case Many(), TrieNode():
                self.many = branch
            case Glob(), TrieNode():
                edge = (make_glob_test(step), branch)
                if self.globs is None:
                    self.globs = {step: edge}
                else:
                    self.globs[step] = edge
            case _:
                raise AssertionError(f"no leaf comes after {step}")

    def detach(self, step: Node) -> None:
        """Takes the branch away."""
        match step:
            case Literal(text):
                del self[text]
            case One():
                self.one = None
            case Many():
                self.many = None
            case Glob():
                self.globs = _without(self.globs, step)

    def end(self, field: str, pattern: Pattern, values: Values | None) -> None:
        """Lets a pattern end here with these values, in place of those it had; None takes it away."""
        if field != "whole":
            setattr(self, field, values)
        elif values is None:
            self.whole = _without(self.whole, pattern.nodes)
        elif self.whole is None:
            self.whole = {pattern.nodes: (pattern, values)}
        else:
            self.whole[pattern.nodes] = (pattern, values)


def _without(mapping: dict[Any, Any] | None, key: object) -> dict[Any, Any] | None:
    """The same mapping, without the key; None in place of an empty one, so that readers pass by sooner."""
    if mapping is None or len(mapping) == 1:
        return None
    del mapping[key]
    return mapping
