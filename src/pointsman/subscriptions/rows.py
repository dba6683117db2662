"""Subscriptions from the rows of the file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from pointsman.patterns.pattern import Pattern
from pointsman.subscriptions import statements
from pointsman.subscriptions.control import Reader
from pointsman.subscriptions.gates import Leaf
from pointsman.subscriptions.leaf_rows import row_leaf
from pointsman.subscriptions.model import WildcardSubscription
from pointsman.subscriptions.trees import parse_tree, read_tree


class StoredSubscription(NamedTuple):
    """A subscription, as it is stored."""

    number: int
    """Its place in all listings; it keeps it when it is changed, and no other ever has it."""
    version: int
    """That of its last change."""
    subscription: WildcardSubscription


class SubscriptionReader:
    """Makes subscriptions of rows; matchers and patterns that several have are read once.

    For one page at a time, within one transaction.
    """

    def __init__(self, connection: Reader) -> None:
        self._connection = connection
        self._leaves: dict[int, Leaf] = {}
        self._patterns: dict[tuple[str, str], Pattern] = {}

    def read(self, rows: Iterable[Any]) -> list[StoredSubscription]:
        """The subscriptions of the rows of a ``SUBSCRIPTION…`` statement, in their order."""
        return [self._subscription(*row) for row in list(rows)]

    def numbered(self, numbers: Iterable[int]) -> list[StoredSubscription]:
        """The subscriptions of these numbers, in their order; those that are gone are left out."""
        execute = self._connection.execute
        return [
            self._subscription(*row)
            for number in numbers
            for row in list(execute(statements.SUBSCRIPTION_BY_NUMBER, (number,)))
        ]

    def _subscription(
        self,
        number: int,
        version: int,
        id: str,
        owner: str,
        destinations: str,
        pattern: str | None,
        dialect: str | None,
        tree: str | None,
        enabled: int,
        expires: float | None,
        description: str | None,
    ) -> StoredSubscription:
        subscription = WildcardSubscription(
            id,
            owner,
            tuple(json.loads(destinations)),
            None if pattern is None or dialect is None else self._pattern(pattern, dialect),
            None if tree is None else read_tree(parse_tree(tree), self._leaf),
            bool(enabled),
            expires,
            description or "",
        )
        return StoredSubscription(number, version, subscription)

    def _leaf(self, number: int) -> Leaf:
        found = self._leaves.get(number)
        if found is None:
            row = next(iter(self._connection.execute(statements.MATCHER_READ, (number,))))
            found = self._leaves[number] = row_leaf(*row)
        return found

    def _pattern(self, text: str, dialect: str) -> Pattern:
        found = self._patterns.get((text, dialect))
        if found is None:
            found = self._patterns[text, dialect] = Pattern(text, dialect)
        return found
