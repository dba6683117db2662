"""Wildcard subscriptions in the broker: whom a message goes to by its subject and metadata, besides the routes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from functools import partial

from pointsman.errors import InputError
from pointsman.message import Message
from pointsman.store import statements
from pointsman.store.message import microseconds
from pointsman.store.put import Target
from pointsman.store.settle import Leased
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction
from pointsman.subscriptions.input_adapter import InputAdapter
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.output_adapter import ROUTE, OutputAdapter, SubscriptionDelivery
from pointsman.table.routing_table import RoutingTable

Aim = Callable[[Transaction, SubscriptionDelivery], Target]


class Wildcards:
    """The wildcard subscriptions of the file, as far as their owners may read; used within transactions."""

    def __init__(self, store: Store, table: RoutingTable) -> None:
        self._store = store
        self._table = table
        self._live = LiveSubscriptions(store)

    def gather(self, transaction: Transaction, message: Message) -> OutputAdapter | None:
        """What is to be delivered of a message, until ``forget``; None if there are no subscriptions."""
        resolver = self._live.resolver(transaction)
        if resolver is None:
            return None
        gathered = OutputAdapter(self._live.spill, self._may)
        try:
            InputAdapter(resolver, gathered).take(message)
        except BaseException:
            gathered.forget()
            raise
        return gathered

    def bury(self, transaction: Transaction, gathered: OutputAdapter, aim: Aim, priority: int, delay: float) -> None:
        """Makes dead letters of the deliveries of the last message whose destination the table has not."""
        for delivery in gathered:
            if not self._table.has_destination(delivery.destination):
                reason = f"the table has no destination {delivery.destination!r}"
                bury(self._store, transaction, aim(transaction, delivery), reason, priority, delay)

    def close(self) -> None:
        """Gives back what is held."""
        self._live.close()

    def _may(self, owner: str, subject: str) -> bool:
        access = self._table.access
        return access is None or access.check(owner, "subscribe", subject).allowed


def bury(store: Store, transaction: Transaction, target: Target, reason: str, priority: int, delay: float) -> None:
    """Makes a dead letter of the delivery of the last message to this target."""
    subscription, via, _ = target
    where = (subscription, transaction.sequence, via)
    if delay:
        due = transaction.now + microseconds(delay, "delay")
        row = transaction.first(statements.DELAYED_TAKE, (due, *where))
    else:
        row = (priority, *transaction.first(statements.READY_TAKE, (subscription, priority, *where[1:])))
    store.settler.give_up(transaction, Leased(*where, *row), reason)


class Targets(Collection[Target]):
    """Whom a message goes to: some who are known, and as many as subscriptions were gathered for, one at a time."""

    def __init__(self, transaction: Transaction, known: list[Target], gathered: OutputAdapter | None, aim: Aim) -> None:
        self._known = known
        self._gathered = () if gathered is None else gathered
        self._aim = partial(aim, transaction)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._known) + len(self._gathered)

    def __iter__(self) -> Iterator[Target]:
        """All of them."""
        yield from self._known
        yield from map(self._aim, self._gathered)

    def __contains__(self, target: object) -> bool:
        """Whether it is one of them."""
        return any(target == each for each in self)


def note_of(delivery: SubscriptionDelivery) -> str:
    """What is to be known of a delivery when it is made: whose it is, and which subscriptions matched."""
    note = {"owner": delivery.owner, "subscriptions": delivery.subscriptions, "matched": delivery.matched}
    return json.dumps(note, ensure_ascii=False)


def check_names(table: RoutingTable) -> None:
    """Raises ``InputError`` (``bad-setting``) for a table with a route whose name is kept for subscriptions."""
    for route in table.routes:
        if route.name.startswith(ROUTE):
            problem = f"the route {route.name!r} needs another name: {ROUTE!r} begins those of subscriptions"
            raise InputError("bad-setting", problem)
