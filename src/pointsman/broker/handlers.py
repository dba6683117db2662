"""What was asked to be handled, before and while the broker runs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pointsman.broker.deliver import Act, Consumer
from pointsman.broker.publish import Publisher
from pointsman.errors import AccessError, InputError
from pointsman.patterns.pattern import Pattern
from pointsman.store import statements
from pointsman.store.store import Store
from pointsman.store.subscriptions import add_subscription
from pointsman.store.transaction import SECOND, Transaction
from pointsman.table.routing_table import RoutingTable

LOG = logging.getLogger("pointsman.broker")


@dataclass(frozen=True, slots=True)
class Registration:
    """A handler, and of what: of a pattern, or of a destination."""

    name: str
    act: Act
    pattern: str | None
    destination: str
    concurrency: int = 1
    lease: float | None = None
    max_attempts: int | None = None
    manual: bool = False
    principal: str | None = None
    handed_over: bool = False

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise InputError("bad-setting", f"concurrency is {self.concurrency!r}, not a whole number from 1")
        if self.lease is not None and not 0.001 <= self.lease < 1e9:
            raise InputError("bad-setting", f"lease is {self.lease!r}, not a number of seconds from 0.001")
        if self.max_attempts is not None and self.max_attempts < 1:
            raise InputError("bad-setting", f"max_attempts is {self.max_attempts!r}, not a whole number from 1")

    def prepare(self, store: Store, table: RoutingTable, publisher: Publisher) -> Callable[[Transaction], Consumer]:
        """What stores the subscription, and gives the consumer; it raises ``StoreError`` (``subscription-differs``).

        Raises ``PatternError``, and ``AccessError`` (``subscribe-refused``) when the principal may read nothing of it.
        """
        pattern = None if self.pattern is None else Pattern(self.pattern, table.dialect)
        if pattern is not None and self.principal is not None and table.access is not None:
            narrowing = table.access.narrow(self.principal, pattern)
            if not narrowing.patterns:
                raise AccessError("subscribe-refused", narrowing.reason, text=self.pattern)
            LOG.info("%s: %s", self.name, narrowing.reason)

        def operation(transaction: Transaction) -> Consumer:
            if pattern is None:
                number = publisher.destination(transaction, self.destination)
            else:
                number = self._subscription(transaction, store, pattern)
            lease = int((self.lease or store.settings.lease) * SECOND)
            name = self.name or self.destination
            return Consumer(
                number, name, self.act, self.destination, self.concurrency, lease, self.manual, self.handed_over
            )

        return operation

    def _subscription(self, transaction: Transaction, store: Store, pattern: Pattern) -> int:
        """The number of the subscription, which has these settings from now on."""
        given = (self.lease, self.max_attempts, self.principal)
        number = add_subscription(transaction, self.name, pattern, store.dialect.name, *given)
        store.subscriptions.refresh(transaction)
        found = store.subscriptions.by_id[number]
        lease = None if self.lease is None else int(self.lease * SECOND)
        if (found.lease, found.attempts, found.owner) != (lease, self.max_attempts, self.principal):
            transaction.subscriptions += 1
            changed = (lease, self.max_attempts, self.principal, transaction.subscriptions, number)
            transaction.execute(statements.SUBSCRIPTION_CHANGE, changed)
        return number


class Registrations:
    """All that were made."""

    def __init__(self) -> None:
        self.all: list[Registration] = []

    def add(self, registration: Registration) -> None:
        """One more. Raises ``InputError`` (``bad-setting``) if another handles the same already."""
        what = (registration.name, registration.destination)
        if any((each.name, each.destination) == what for each in self.all):
            where = registration.name or registration.destination
            raise InputError("bad-setting", f"{where!r} has a handler already; give this one a name of its own")
        self.all.append(registration)
