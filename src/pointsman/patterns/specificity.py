"""Which of two patterns says more: the order in which more specific patterns come first."""

from __future__ import annotations

from typing import NamedTuple

from pointsman.patterns.nodes import Glob, Literal, Many, Nodes, wildcards_of, without_repeated_many


class Specificity(NamedTuple):
    """Compares by its fields from left to right; the smaller one is the more specific."""

    many: bool
    """Whether there is a wildcard for many tokens, or one that crosses tokens."""
    wildcards: int
    first_wildcard: tuple[int, int]
    """Where the first wildcard stands (token, character in it), negated, for the later one is the more specific."""


def specificity(nodes: Nodes) -> Specificity:
    """The specificity of a pattern of these nodes."""
    distinct = without_repeated_many(nodes)
    return Specificity(
        many=any(isinstance(node, Many) or (isinstance(node, Glob) and node.crosses) for node in distinct),
        wildcards=sum(wildcards_of(node) for node in distinct),
        first_wildcard=_first_wildcard(distinct),
    )


def _first_wildcard(nodes: Nodes) -> tuple[int, int]:
    for index, node in enumerate(nodes):
        if isinstance(node, Glob):
            before = node.parts[0]
            return -index, -len(before) if isinstance(before, str) else 0
        if not isinstance(node, Literal):
            return -index, 0
    return -len(nodes), 0
