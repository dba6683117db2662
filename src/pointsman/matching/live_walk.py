"""Walking the trie with the tokens of a subject.

A walk keeps all nodes that the tokens so far lead to and goes on with them together, so that nothing is tried twice:
the cost is linear in the tokens times the nodes that can be reached, whatever many-wildcards the patterns hold. Each
pattern is found at most once.

A writer may change the trie meanwhile. So a field is read once, into a local variable, before anything is asked of it,
and a dict is read by one call: ``found += values`` takes over its keys.
"""

from __future__ import annotations

from typing import Any

from pointsman.matching.live_node import TrieNode
from pointsman.patterns.subject import Subject


def walk(  # noqa: C901 - written out, because this is what a match costs
    nodes: list[TrieNode], tokens: list[str], many_minimum: int, found: list[Any]
) -> None:
    """Adds the values of the patterns that match, in a trie where many-wildcards come last and there are no globs.

    There must be a token. One way leads to each node, so none is met twice.
    """
    last = tokens.pop()
    for token in tokens:
        following: list[TrieNode] = []
        for node in nodes:
            tail = node.tail
            if tail is not None:
                found += tail
            child = node.get(token)
            if child is not None:
                following.append(child)
            child = node.one
            if child is not None:
                following.append(child)
        if not following:
            return
        nodes = following
    for node in nodes:
        tail = node.tail
        if tail is not None:
            found += tail
        child = node.get(last)
        if child is not None:
            ending = child.ending
            if ending is not None:
                found += ending
            tail = child.tail
            if tail is not None and not many_minimum:
                found += tail
        child = node.one
        if child is not None:
            ending = child.ending
            if ending is not None:
                found += ending
            tail = child.tail
            if tail is not None and not many_minimum:
                found += tail


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
    be met again with a later token, and what matches from there whatever follows is added the first time only.
    """
    nodes = [root]
    staying: dict[int, TrieNode] = {}
    passed: set[int] = set()
    for token in tokens:
        _stay(nodes, staying)
        following: list[TrieNode] = []
        for node in (*nodes, *staying.values()):
            _pass(node, text, passed, found)
            child = node.get(token)
            if child is not None:
                following.append(child)
            child = node.one
            if child is not None:
                following.append(child)
            globs = node.globs
            if globs is not None:
                following += [branch for test, branch in list(globs.values()) if test(token)]
        nodes = following
    _stay(nodes, staying)
    for node in (*nodes, *staying.values()):
        _pass(node, text, passed, found)
        ending = node.ending
        if ending is not None:
            found += ending


def _stay(nodes: list[TrieNode], staying: dict[int, TrieNode]) -> None:
    """Reaches the nodes after the many-wildcards here, which may stand for nothing."""
    for node in nodes:
        after = node.many
        while after is not None and id(after) not in staying:
            staying[id(after)] = after
            after = after.many


def _pass(node: TrieNode, text: str, passed: set[int], found: list[Any]) -> None:
    """Adds what matches from this node on, whatever follows, unless that was done before."""
    tail, whole = node.tail, node.whole
    if (tail is None and whole is None) or id(node) in passed:
        return
    passed.add(id(node))
    if tail is not None:
        found += tail
    if whole is not None:
        patterns = list(whole.values())
        subject = Subject(text, patterns[0][0].dialect)
        for pattern, values in patterns:
            if pattern.matches(subject):
                found += values
