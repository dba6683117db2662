"""What ``Queue.pop`` and its like do: whose messages are asked for, and which way they are taken."""

from __future__ import annotations

from pointsman.patterns.pattern import Pattern
from pointsman.store import lookup
from pointsman.store.asking import Interest
from pointsman.store.draft import microseconds
from pointsman.store.settling import Receipt
from pointsman.store.store import Store
from pointsman.store.stored import StoredMessage
from pointsman.store.subscriptions import MAIN
from pointsman.store.taking import Taken, messages_of
from pointsman.store.transaction import SECOND, Transaction


class Popping:
    """Takes messages of a queue, and acknowledges them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pattern(self, pattern: str | Pattern) -> Pattern:
        """In the queue's dialect, if it does not say which."""
        return pattern if isinstance(pattern, Pattern) else Pattern(pattern, self._store.dialect)

    def one(self, pattern: str | Pattern | None, subscription: str | None, lease: float | None) -> StoredMessage | None:
        """As ``Queue.pop``."""
        if pattern is None and subscription is None:
            self._store.check_open()
            found = self._store.quick.take(MAIN, self._lease(MAIN, lease))
            if found is not None:
                return found
        return next(iter(self.many(1, pattern, subscription, lease)), None)

    def many(
        self, count: int, pattern: str | Pattern | None, subscription: str | None, lease: float | None
    ) -> list[StoredMessage]:
        """As ``Queue.pop_many``."""
        asked = None if pattern is None else self.pattern(pattern)
        interest = None if asked is None or subscription is not None else self._interest(asked)
        taken = self._store.write(
            lambda transaction: self._take(transaction, count, asked, interest, subscription, lease)
        )
        return messages_of(taken)

    def next(
        self, message: StoredMessage, pattern: str | Pattern | None, subscription: str | None, lease: float | None
    ) -> StoredMessage | None:
        """As ``Queue.ack_and_pop``."""
        asked = None if pattern is None else self.pattern(pattern)
        interest = None if asked is None or subscription is not None else self._interest(asked)

        def operation(transaction: Transaction) -> StoredMessage | None:
            self._done(transaction, message)
            return next(iter(messages_of(self._take(transaction, 1, asked, interest, subscription, lease))), None)

        return self._store.write(operation)

    def done(self, message: StoredMessage) -> bool:
        """As ``Queue.ack``."""
        self._store.check_open()
        if self._store.quick.done(message):
            return True
        return self._store.write(lambda transaction: self._done(transaction, message))

    def _done(self, transaction: Transaction, message: StoredMessage) -> bool:
        if self._store.settler.take(transaction, receipt(message)) is None:
            return False
        self._store.settler.done(transaction, message.sequence)
        return True

    def _interest(self, pattern: Pattern) -> Interest | None:
        """What is known about a pattern; worked out before the transaction, where it keeps nobody waiting."""
        if (str(pattern), pattern.dialect.name) in self._store.subscriptions.by_pattern:
            return None
        with self._store.read() as connection:
            version = Transaction(connection, self._store.settings.clock).keys
            if self._store.interests.known(pattern, version) is not None:
                return None
            interest = Interest(pattern, version)
            interest.catch_up(connection)
        return interest

    def _take(
        self,
        transaction: Transaction,
        count: int,
        pattern: Pattern | None,
        interest: Interest | None,
        subscription: str | None,
        lease: float | None,
    ) -> Taken:
        store = self._store
        store.subscriptions.refresh(transaction)
        number: int | None = MAIN
        if subscription is not None:
            number = store.subscriptions.find(subscription).id
        elif pattern is not None:
            number = store.subscriptions.by_pattern.get((str(pattern), pattern.dialect.name))
        length = self._lease(number, lease)
        if number is not None or pattern is None:
            return store.taker.first(transaction, number or MAIN, count, length)
        return lookup.take_by_pattern(store, transaction, pattern, interest, count, length)

    def _lease(self, subscription: int | None, lease: float | None) -> int:
        if lease is not None:
            return microseconds(lease, "lease")
        found = self._store.subscriptions.by_id.get(subscription or MAIN)
        if found is not None and found.lease is not None:
            return found.lease
        return int(self._store.settings.lease * SECOND)


def receipt(message: StoredMessage) -> Receipt:
    """What the lease of a message is known by."""
    return (message.until, message.subscription, message.sequence, message.via, message.token)
