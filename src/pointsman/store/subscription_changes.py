"""Beginning and ending durable subscriptions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pointsman.errors import InputError, StoreError
from pointsman.patterns.pattern import Pattern
from pointsman.store import statements
from pointsman.store.maintenance import check_start, replay
from pointsman.store.message import check_number, microseconds
from pointsman.store.settle import cut
from pointsman.store.subscriptions import Subscription, add_subscription
from pointsman.store.transaction import Transaction

if TYPE_CHECKING:
    from pointsman.store.store import Store

PAGE = 1000
"""Deliveries that one transaction drops at most."""


def subscribe(
    store: Store, name: str, pattern: Pattern | None, lease: float | None, max_attempts: int | None, start: int | None
) -> Subscription:
    """Makes a durable subscription."""
    _check_subscription(name, lease, max_attempts)
    if start is not None:
        check_start(start)

    def operation(transaction: Transaction) -> tuple[Subscription, bool]:
        before = transaction.subscriptions
        number = add_subscription(transaction, name, pattern, store.dialect.name, lease, max_attempts)
        store.subscriptions.refresh(transaction)
        return store.subscriptions.by_id[number], transaction.subscriptions > before

    made, is_new = store.write(operation)
    if start is not None and is_new:
        # Never for one that is there: what it has acknowledged would come again.
        replay(store, start, name)
    return made


def _check_subscription(name: object, lease: object, max_attempts: object) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= 255 or "\0" in name or cut(name) != name:
        problem = f"the name of a subscription is a text of 1 to 255 characters without NUL, not {name!r:.300}"
        raise InputError("bad-setting", problem)
    if lease is not None:
        microseconds(lease, "lease")
    if max_attempts is not None:
        check_number(max_attempts, "max_attempts", 1)


def unsubscribe(store: Store, name: str) -> int:
    """Ends a durable subscription, after its deliveries: one that is broken off can be called again."""
    if not name:
        raise StoreError("no-subscription", "the queue itself is no subscription that could be ended")

    def find(transaction: Transaction) -> int:
        store.subscriptions.refresh(transaction)
        return store.subscriptions.find(name).id

    number = store.write(find)
    count = 0
    while (dropped := store.write(lambda transaction: _drop_page(store, transaction, number))) == PAGE:
        count += dropped
    return count + dropped + store.write(partial(_end, store, number=number))


def _end(store: Store, transaction: Transaction, number: int) -> int:
    """Ends a subscription, with what came for it since; gives how many deliveries that were."""
    store.subscriptions.refresh(transaction)
    if number not in store.subscriptions.by_id:
        return 0
    count = 0
    while dropped := _drop_page(store, transaction, number):
        count += dropped
    transaction.subscriptions += 1
    transaction.execute(statements.SUBSCRIPTION_END, (number,))
    return count


def _drop_page(store: Store, transaction: Transaction, number: int) -> int:
    """Ends a page of the deliveries of a subscription; less than a page if it has no more."""
    count = 0
    for statement in (statements.READY_CLEAR, statements.DELAYED_CLEAR, statements.LEASED_CLEAR):
        rows = list(transaction.rows(statement, (number, PAGE - count)))
        for (sequence,) in rows:
            store.settler.done(transaction, sequence)
        count += len(rows)
    dead = list(transaction.rows(statements.DEAD_CLEAR, (number, PAGE - count)))
    for (sequence,) in dead:
        row = transaction.first(statements.PENDING_FIND, (sequence,))
        if row is None or row[0] <= 0:
            store.settler.finish_if_over(transaction, sequence)
    return count + len(dead)
