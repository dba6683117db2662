"""What the time alone does to the state: timeouts of sagas and gatherers, and what may be forgotten."""

from __future__ import annotations

from pointsman.broker.publishing import Publisher
from pointsman.broker.state import LATE, REPLY, due_of, read_value, write_changes
from pointsman.routing.gather_state import GatherState
from pointsman.store import statements
from pointsman.store.transaction import SECOND, Transaction
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import TYPES, Key, Value

PAGE = 100
"""Values that one transaction looks at."""
NEXT = (statements.STATE_NEXT, statements.LEASED_NEXT, statements.DELAYED_NEXT)


def expire(transaction: Transaction, table: RoutingTable, publisher: Publisher) -> float | None:
    """Takes the timeouts that are due, a page of them, and publishes what follows.

    Gives the seconds until something is due next, here or in the queue; None if nothing is.
    """
    now = transaction.now / SECOND
    rows = list(transaction.rows(statements.STATE_DUE, (transaction.now, PAGE)))
    for kind, name, correlation_id, text in rows:
        key = Key(kind, name, correlation_id)
        value = read_value(kind, text) if kind in TYPES else None
        if value is None or _is_over(value, now):
            transaction.execute(statements.STATE_DELETE, key)
            transaction.execute(statements.STATE_DELETE, (REPLY, name, correlation_id))
            continue
        decision = table.expire({key: value}, now)
        after = {key: value} | dict(decision.changes)
        write_changes(transaction, table, {key: _unless_stuck(table, key, each, now) for key, each in after.items()})
        publisher.follow(transaction, decision.followed, None)
    times = [transaction.first(statement)[0] for statement in NEXT]
    waits = [max(0.0, (time - transaction.now) / SECOND) for time in times if time is not None]
    return min(waits, default=None)


def _is_over(value: Value, now: float) -> bool:
    return isinstance(value, GatherState) and value.complete and now >= value.deadline + LATE


def _unless_stuck(table: RoutingTable, key: Key, value: Value | None, now: float) -> Value | None:
    """The value, unless it would be due again at once though nothing changes it: a table that no longer knows it."""
    due = None if value is None else due_of(table, key, value)
    return None if due is not None and due <= now else value
