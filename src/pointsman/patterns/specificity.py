"""The orders of patterns: more specific first, and the order in which Zato evaluates them (wildcards last)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pointsman.patterns.nodes import Glob, Literal, Many, Nodes, wildcards_of, without_repeated_many

if TYPE_CHECKING:
    from pointsman.patterns.pattern import Pattern

AFTER_EVERY_CHARACTER = "\U0010ffff"


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


def evaluation_key(text: str) -> str:
    """Sorts texts as Zato evaluates them: case-folded, character by character, ``*`` after every other one."""
    return text.lower().replace("*", AFTER_EVERY_CHARACTER)


def evaluation_order(patterns: Iterable[Pattern]) -> list[Pattern]:
    """The patterns in the order in which they are tried; the first that matches decides.

    >>> from pointsman.patterns import Pattern
    >>> names = ["orders.*", "orders.urgent", "alerts.**", "alerts.critical"]
    >>> [str(each) for each in evaluation_order(Pattern(name, "zato") for name in names)]
    ['alerts.critical', 'alerts.**', 'orders.urgent', 'orders.*']
    """
    return sorted(patterns, key=lambda pattern: evaluation_key(pattern.text))
