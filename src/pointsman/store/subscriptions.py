"""Durable subscriptions: who gets a copy of which message, as the file says and as the live index finds them."""

from __future__ import annotations

from typing import NamedTuple

from pointsman.errors import StoreError, SubjectError
from pointsman.matching.live import SubjectIndex
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.pattern import Pattern
from pointsman.store import statements
from pointsman.store.transaction import SECOND, Transaction

MAIN = 0
"""The number of the queue itself."""


class Subscription(NamedTuple):
    """A durable subscription; without a pattern, only what is sent to it by name gets there."""

    id: int
    name: str
    pattern: str | None
    dialect: str
    lease: int | None
    """In microseconds; None for the queue's."""
    attempts: int | None
    owner: str | None = None
    """The principal whose rights it has; None for one that may have everything."""


class Subscriptions:
    """The subscriptions of a file, as of the last transaction that looked."""

    __slots__ = ("_dialect", "_index", "by_id", "by_name", "patterns", "version")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.forget()

    def forget(self) -> None:
        """After a change that was undone, what is known may be wrong: it is read anew."""
        self.version = -1
        """Of the file, that they are known as of."""
        self._index: SubjectIndex[int] = SubjectIndex(self._dialect)
        self.by_id: dict[int, Subscription] = {}
        self.by_name: dict[str, Subscription] = {}
        self.patterns = 0

    def refresh(self, transaction: Transaction) -> None:
        """Takes up what was changed since; quick if nothing was."""
        if self.version == transaction.subscriptions:
            return
        if self.version > transaction.subscriptions:
            self.forget()
        for row in transaction.rows(statements.SUBSCRIPTIONS_SINCE, (self.version,)):
            self._take_up(Subscription(*row))
        if transaction.first(statements.SUBSCRIPTION_COUNT)[0] != len(self.by_id):
            left = {row[0] for row in transaction.rows(statements.SUBSCRIPTION_IDS)}
            for number in self.by_id.keys() - left:
                self._drop(number)
        self.version = transaction.subscriptions

    def matching(self, key: str) -> list[int]:
        """The numbers of the subscriptions whose patterns match."""
        if not self.patterns:
            return []
        try:
            return self._index.match(key)
        except SubjectError:
            # A key of the queue's dialect that none of the dialects of the patterns has.
            return []

    def find(self, name: str) -> Subscription:
        """The one of this name. Raises ``StoreError`` (``no-subscription``)."""
        found = self.by_name.get(name)
        if found is None:
            raise StoreError("no-subscription", f"there is no subscription {name!r}")
        return found

    def _drop(self, number: int) -> None:
        before = self.by_id.pop(number, None)
        if before is not None:
            # Another may have begun under its name.
            if self.by_name[before.name] is before:
                del self.by_name[before.name]
            if before.pattern is not None:
                self._index.remove(Pattern(before.pattern, before.dialect), before.id)
                self.patterns -= 1

    def _take_up(self, subscription: Subscription) -> None:
        self._drop(subscription.id)
        self.by_id[subscription.id] = subscription
        self.by_name[subscription.name] = subscription
        if subscription.pattern is not None:
            self._index.add(Pattern(subscription.pattern, subscription.dialect), subscription.id)
            self.patterns += 1


def add_subscription(
    transaction: Transaction,
    name: str,
    pattern: Pattern | None,
    dialect: str,
    lease: float | None = None,
    attempts: int | None = None,
    owner: str | None = None,
) -> int:
    """The number of the subscription of this name; a new one is stored.

    Raises ``StoreError`` (``subscription-differs``) if there is one of this name with another pattern.
    """
    text = None if pattern is None else str(pattern)
    chosen = dialect if pattern is None else pattern.dialect.name
    found = transaction.first(statements.SUBSCRIPTION_BY_NAME, (name,))
    if found is not None:
        if (found[1], found[2]) != (text, chosen):
            problem = f"the subscription {name!r} has the pattern {found[1]!r} ({found[2]}), not {text!r} ({chosen})"
            raise StoreError("subscription-differs", problem)
        return int(found[0])
    transaction.subscriptions += 1
    microseconds = None if lease is None else int(lease * SECOND)
    number: int = transaction.subscriptions
    transaction.execute(statements.SUBSCRIPTION_ADD, (number, name, text, chosen, microseconds, attempts, owner))
    return number
