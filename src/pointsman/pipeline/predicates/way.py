"""Which way a route's question is answered on Spark: natively, or in Python with its columns handed over by Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from pointsman.conditions import Condition, Predicate
from pointsman.conditions.like import pieces
from pointsman.conditions.nodes import Like
from pointsman.matching.terms.reference import Matcher
from pointsman.pipeline.predicates.leaves import leaves_of_condition, leaves_of_tree

MOST_SIGNS = 256
"""Signs of a pattern with wildcards that is made a regular expression: Java needs stack for each of them."""
MOST_LEAVES = 256
"""Comparisons and matchers of one expression for Spark, which takes long to plan large ones."""

NATIVE = "Spark's own expressions say the same"


class Way(NamedTuple):
    """The way that is gone, and why."""

    name: Literal["native", "arrow"]
    why: str


def way(condition: Condition | None, predicate: Predicate | None) -> Way:
    """The way for what a route asks of a message: a condition on its metadata, a predicate, or both.

    >>> way(None, Predicate("metadata.size > 5")).name
    'native'
    >>> way(None, Predicate("body.amount > 1000"))
    Way(name='arrow', why='body.amount is read from JSON, which Spark reads by other rules')
    """
    why = next(_obstacles(condition, predicate), None)
    return Way("native", NATIVE) if why is None else Way("arrow", why)


def count_leaves(condition: Condition | None, predicate: Predicate | None) -> int:
    """How many matchers, comparisons and other questions about one field there are."""
    in_condition = 0 if condition is None else sum(1 for _ in leaves_of_condition(condition))
    return in_condition + (0 if predicate is None else sum(1 for _ in leaves_of_tree(predicate.tree)))


def _obstacles(condition: Condition | None, predicate: Predicate | None) -> Iterator[str]:
    if predicate is not None:
        for field in sorted(predicate.fields, key=str):
            if field.root == "body":
                yield f"{field} is read from JSON, which Spark reads by other rules"
    for matcher in () if condition is None else leaves_of_condition(condition):
        if isinstance(matcher, Matcher):
            if matcher.partial:
                yield f"the pattern {matcher.pattern!r} is for words, which Spark does not find"
            elif len(matcher.pattern) > MOST_SIGNS and ("?" in matcher.pattern or "*" in matcher.pattern):
                yield f"a pattern with wildcards has more than {MOST_SIGNS} signs"
    for leaf in () if predicate is None else leaves_of_tree(predicate.tree):
        if isinstance(leaf, Like) and len(pieces(leaf.pattern)) > MOST_SIGNS:
            yield f"a pattern of LIKE has more than {MOST_SIGNS} signs"
    if count_leaves(condition, predicate) > MOST_LEAVES:
        yield f"there are more than {MOST_LEAVES} comparisons in it"
