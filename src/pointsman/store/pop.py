"""What ``Queue.pop`` and its like do: whose messages are asked for, and which way they are taken."""

from __future__ import annotations

from collections.abc import Sequence

from pointsman.errors import InputError, PatternError
from pointsman.patterns.dialect import check_wildcards
from pointsman.patterns.pattern import Pattern
from pointsman.store import inspect
from pointsman.store.lease import Taken, messages_of
from pointsman.store.message import StoredMessage, check_number, microseconds
from pointsman.store.pattern_pop import Interest
from pointsman.store.settle import Receipt
from pointsman.store.store import Store
from pointsman.store.subscriptions import MAIN
from pointsman.store.transaction import SECOND, Transaction

Asked = str | Sequence[str] | Pattern | None
"""A pattern, as text, as its segments or parsed; nothing, or an empty text, asks for every message."""


class Popping:
    """Takes messages of a queue, and acknowledges them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pattern(self, pattern: str | Sequence[str] | Pattern) -> Pattern:
        """In the queue's dialect, if it does not say which. Raises ``PatternError``."""
        if isinstance(pattern, Pattern):
            return pattern
        text = self._store.keys.text(pattern, PatternError)
        parsed = Pattern(text, self._store.dialect)
        check_wildcards(text, self._store.dialect, chosen=self._store.settings.dialect is not None)
        return parsed

    def asked(self, pattern: Asked, subscription: str | None) -> Pattern | None:
        """The pattern to take by; None for every message.

        Raises ``PatternError``, and ``InputError`` (``bad-usage``) if a subscription is named as well.
        """
        if pattern is not None and not isinstance(pattern, Pattern):
            pattern = self._store.keys.text(pattern, PatternError) or None
        if pattern is None:
            return None
        if subscription is not None:
            raise InputError("bad-usage", "give a pattern or a subscription, which has one of its own, not both")
        return self.pattern(pattern)

    def one(self, pattern: Asked, subscription: str | None, lease: float | None) -> StoredMessage | None:
        """As ``Queue.pop``."""
        asked = self.asked(pattern, subscription)
        if asked is None and subscription is None:
            self._store.check_open()
            found = self._store.quick.take(MAIN, self._lease(MAIN, lease))
            if found is not None:
                return found
        return next(iter(self.many(1, asked, subscription, lease)), None)

    def many(self, count: int, pattern: Asked, subscription: str | None, lease: float | None) -> list[StoredMessage]:
        """As ``Queue.pop_many``."""
        check_number(count, "count")
        asked = self.asked(pattern, subscription)
        interest = None if asked is None else self._interest(asked)
        taken = self._store.write(
            lambda transaction: self._take(transaction, count, asked, interest, subscription, lease)
        )
        return messages_of(taken)

    def next(
        self, message: StoredMessage, pattern: Asked, subscription: str | None, lease: float | None
    ) -> StoredMessage | None:
        """As ``Queue.ack_and_pop``."""
        asked = self.asked(pattern, subscription)
        interest = None if asked is None else self._interest(asked)

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
        number = MAIN if subscription is None else store.subscriptions.find(subscription).id
        length = self._lease(number, lease)
        if pattern is None:
            return store.taker.first(transaction, number, count, length)
        return inspect.take_by_pattern(store, transaction, pattern, interest, count, length)

    def _lease(self, subscription: int, lease: float | None) -> int:
        if lease is not None:
            return microseconds(lease, "lease")
        found = self._store.subscriptions.by_id.get(subscription)
        if found is not None and found.lease is not None:
            return found.lease
        return int(self._store.settings.lease * SECOND)


def receipt(message: StoredMessage) -> Receipt:
    """What the lease of a message is known by."""
    return (message.until, message.subscription, message.sequence, message.via, message.token)
