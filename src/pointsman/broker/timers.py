"""What the time alone does to the state: timeouts of sagas and gatherers, and what may be forgotten."""

from __future__ import annotations

import logging

from pointsman.broker.publish import Publisher
from pointsman.broker.state import LATE, REPLY, due_of, read_value, write_changes
from pointsman.errors import PointsmanError
from pointsman.routing.gather import GatherState
from pointsman.store import statements
from pointsman.store.store import Store
from pointsman.store.transaction import SECOND, Transaction
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import TYPES, Key, Value

LOG = logging.getLogger("pointsman.broker")
PAGE = 100
"""Values that one transaction looks at."""
AGAIN = 10.0
"""Seconds after which a timeout is tried again of which something could not be published."""


def expire(transaction: Transaction, store: Store, table: RoutingTable, publisher: Publisher) -> None:
    """Takes the timeouts that are due, a page of them, and publishes what follows.

    One that fails, as when the queue is full, is logged and put off; the others are not concerned.
    """
    for kind, name, correlation_id, text in list(transaction.rows(statements.STATE_DUE, (transaction.now, PAGE))):
        key = Key(kind, name, correlation_id)
        numbers = transaction.numbers()
        transaction.execute(statements.SAVE)
        try:
            _expire_one(transaction, table, publisher, key, text)
        except PointsmanError as error:
            transaction.execute(statements.UNDO)
            transaction.restore(numbers)
            store.forget()
            LOG.warning("the timeout of %s %r is put off: %s", kind, correlation_id or name, error)
            due = transaction.now + int(AGAIN * SECOND)
            transaction.execute(statements.STATE_WRITE, (*key, text, due))
        transaction.execute(statements.RELEASE)


def next_due(transaction: Transaction) -> float | None:
    """The seconds until something is due next, in the state or in the queue; None if nothing is."""
    times = [*transaction.first(statements.STATE_NEXT), *transaction.first(statements.DUE_NEXT)]
    waits = [max(0.0, (time - transaction.now) / SECOND) for time in times if time is not None]
    return min(waits, default=None)


def _expire_one(transaction: Transaction, table: RoutingTable, publisher: Publisher, key: Key, text: str) -> None:
    now = transaction.now / SECOND
    value = read_value(key.kind, text) if key.kind in TYPES else None
    if value is None or _is_over(value, now):
        transaction.execute(statements.STATE_DELETE, key)
        transaction.execute(statements.STATE_DELETE, (REPLY, key.name, key.correlation_id))
        return
    decision = table.expire({key: value}, now)
    after = {key: value} | dict(decision.changes)
    write_changes(transaction, table, {key: _unless_stuck(table, key, each, now) for key, each in after.items()})
    publisher.follow(transaction, decision.followed, None)


def _is_over(value: Value, now: float) -> bool:
    return isinstance(value, GatherState) and value.complete and now >= value.deadline + LATE


def _unless_stuck(table: RoutingTable, key: Key, value: Value | None, now: float) -> Value | None:
    """The value, unless it would be due again at once though nothing changes it: a table that no longer knows it."""
    due = None if value is None else due_of(table, key, value)
    return None if due is not None and due <= now else value
