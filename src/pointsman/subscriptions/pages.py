"""Pages of what is stored, within a transaction: matchers, patterns and subscriptions.

All of them are ascending, strictly after what is named, at most ``limit`` long, and an empty page ends them. A number
is never given twice, so that what was not on a page before it is after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions import statements
from pointsman.subscriptions.control import Reader
from pointsman.subscriptions.gates import Leaf
from pointsman.subscriptions.leaf_rows import row_leaf
from pointsman.subscriptions.rows import StoredSubscription, SubscriptionReader


class NumberedLeaf(NamedTuple):
    """A matcher or a number comparison."""

    number: int
    leaf: Leaf


class NumberedPattern(NamedTuple):
    """A subject pattern; the gate it is has the same number below zero."""

    number: int
    pattern: Pattern


def matcher_page(transaction: Reader, after: int, limit: int) -> list[NumberedLeaf]:
    """The distinct matchers and comparisons of all subscriptions."""
    rows = transaction.execute(statements.MATCHERS_AFTER, (after, limit))
    return [NumberedLeaf(number, row_leaf(text, key, kind)) for number, text, key, kind in rows]


def pattern_page(transaction: Reader, after: int, limit: int) -> list[NumberedPattern]:
    """The distinct subject patterns of all subscriptions."""
    rows = transaction.execute(statements.PATTERNS_AFTER, (after, limit))
    return [NumberedPattern(number, Pattern(text, dialect)) for number, text, dialect in rows]


def subscription_rows(transaction: Reader, numbers: Iterable[int]) -> list[StoredSubscription]:
    """The subscriptions of these numbers, in their order; those that are gone are left out."""
    return SubscriptionReader(transaction).numbered(numbers)
