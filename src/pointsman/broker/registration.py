"""What was asked to be handled, before and while the broker runs."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pointsman.broker.consumer import Act, Consumer
from pointsman.broker.publishing import Publisher
from pointsman.errors import AccessError, InputError
from pointsman.patterns.pattern import Pattern
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

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise InputError("bad-setting", f"concurrency is {self.concurrency!r}, not a whole number from 1")

    def consumer(self, store: Store, table: RoutingTable, publisher: Publisher) -> Consumer:
        """The consumer; its subscription is stored. Raises ``PatternError``, ``AccessError`` and ``StoreError``."""
        pattern = None if self.pattern is None else Pattern(self.pattern, table.dialect)
        if pattern is not None and self.principal is not None and table.access is not None:
            narrowing = table.access.narrow(self.principal, pattern)
            if not narrowing.patterns:
                raise AccessError("publish-refused", narrowing.reason, text=self.pattern)
            LOG.info("%s", narrowing.reason)

        def operation(transaction: Transaction) -> int:
            if pattern is None:
                return publisher.destination(transaction, self.destination)
            dialect = store.dialect.name
            given = (self.name, pattern, dialect, self.lease, self.max_attempts, self.principal)
            return add_subscription(transaction, *given)

        number = store.write(operation)
        lease = int((self.lease or store.settings.lease) * SECOND)
        name = self.name or self.destination
        return Consumer(number, name, self.act, self.destination, self.concurrency, lease, self.manual)


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
