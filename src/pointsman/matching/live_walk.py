"""Walking the trie with the tokens of a subject.

A walk keeps all nodes that the tokens so far lead to and goes on with them together, so that nothing is tried twice:
the cost is linear in the tokens times the nodes that can be reached, whatever many-wildcards the patterns hold. Each
pattern is found at most once.

A writer may change the trie meanwhile. So a field is read once, into a local variable, before anything is asked of it,
and a dict is read by one call: ``found += values`` takes over its keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pointsman.matching.live_node import Leaf, TrieNode
from pointsman.patterns.subject import Subject


def walk(nodes: list[TrieNode], tokens: list[str], many_minimum: int, found: list[Any]) -> None:
    """Adds the values of the patterns that match, in a trie where many-wildcards come last and there are no globs.

    There must be a token. One way leads to each node, so none is met twice.
    """
    last = tokens.pop()
    nodes = advance(nodes, tokens, found)
    if nodes:
        finish(nodes, last, many_minimum, found)


def advance(nodes: list[TrieNode], tokens: Iterable[str], found: list[Any]) -> list[TrieNode]:
    """The nodes that these tokens lead to, in such a trie, when others follow; adds what matches whatever follows."""
    for token in tokens:
        following: list[TrieNode] = []
        for node in nodes:
            tail = node.tail
            if tail is not None:
                found += tail
            child = node.get(token)
            if child is not None:
                if type(child) is TrieNode:
                    following.append(child)
                elif type(child) is list:
                    found += child
            child = node.one
            if child is not None:
                if type(child) is TrieNode:
                    following.append(child)
                elif type(child) is list:
                    found += child
        if not following:
            return following
        nodes = following
    return nodes


def finish(nodes: list[TrieNode], last: str, many_minimum: int, found: list[Any]) -> None:
    """Adds what matches from these nodes with one more token, the last."""
    for node in nodes:
        tail = node.tail
        if tail is not None:
            found += tail
        child = node.get(last)
        if child is not None:
            if type(child) is tuple:
                found += child
            else:
                end(child, many_minimum, found)
        child = node.one
        if child is not None:
            if type(child) is tuple:
                found += child
            else:
                end(child, many_minimum, found)


def end(child: TrieNode | Leaf, many_minimum: int, found: list[Any]) -> None:
    """Adds what ends where the last token leads to."""
    if type(child) is TrieNode:
        ending = child.ending
        if ending is not None:
            found += ending
        tail = child.tail
        if tail is not None and not many_minimum:
            found += tail
    elif type(child) is tuple or not many_minimum:
        found += child


def walk_below_literal(root: TrieNode, tokens: list[str], many_minimum: int, found: list[Any]) -> None:
    """The same without the patterns that begin with a wildcard, for subjects which those pass over."""
    without_wildcards = TrieNode()
    child = root.get(tokens[0])
    if child is not None:
        without_wildcards[tokens[0]] = child
        walk([without_wildcards], tokens, many_minimum, found)


def walk_freely(root: TrieNode, tokens: list[str], text: str, found: list[Any]) -> None:
    """Adds the values of the patterns that match, in any trie of a dialect whose many-wildcard may stand for nothing.

    A node after a many-wildcard, once reached, stays: the wildcard takes every token that comes. A node beyond it may
    be met again with a later token, and what matches from there whatever follows is added the first time only. Nodes
    that were met are held, so that no new one is taken for them.
    """
    nodes: list[TrieNode | tuple[Any, ...]] = [root]
    staying: dict[int, TrieNode] = {}
    passed: dict[int, TrieNode] = {}
    for token in tokens:
        _stay(nodes, staying)
        following: list[TrieNode | tuple[Any, ...]] = []
        for node in (*nodes, *staying.values()):
            if isinstance(node, tuple):
                continue
            _pass(node, text, passed, found)
            children: list[TrieNode | Leaf | None] = [node.get(token), node.one]
            globs = node.globs
            if globs is not None:
                children += [branch for test, branch in list(globs.values()) if test(token)]
            for child in children:
                if isinstance(child, list):
                    found += child
                elif child is not None:
                    following.append(child)
        nodes = following
    _stay(nodes, staying)
    for node in (*nodes, *staying.values()):
        if isinstance(node, tuple):
            found += node
            continue
        _pass(node, text, passed, found)
        ending = node.ending
        if ending is not None:
            found += ending


def _stay(nodes: list[TrieNode | tuple[Any, ...]], staying: dict[int, TrieNode]) -> None:
    """Reaches the nodes after the many-wildcards here, which may stand for nothing."""
    for node in nodes:
        after = None if isinstance(node, tuple) else node.many
        while after is not None and id(after) not in staying:
            staying[id(after)] = after
            after = after.many


def _pass(node: TrieNode, text: str, passed: dict[int, TrieNode], found: list[Any]) -> None:
    """Adds what matches from this node on, whatever follows, unless that was done before."""
    tail, whole = node.tail, node.whole
    if (tail is None and whole is None) or id(node) in passed:
        return
    passed[id(node)] = node
    if tail is not None:
        found += tail
    if whole is not None:
        patterns = list(whole.values())
        subject = Subject(text, patterns[0][0].dialect)
        for pattern, values in patterns:
            if pattern.matches(subject):
                found += values
