"""What the routing table remembers, kept in the queue's file and changed in the transaction of the deliveries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pointsman.routing.gather import GatherState
from pointsman.routing.saga import machine
from pointsman.routing.saga.definition import SagaState
from pointsman.store import statements
from pointsman.store.transaction import SECOND, Transaction
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import TYPES, Changes, Key, Value

REPLY = "reply"
"""The kind under which is kept where the result of a gathering goes."""
PAGE = 1000
LATE = 60.0
"""Seconds after its deadline for which late answers to a gathering are counted."""


class StoredState(Mapping[Key, Value]):
    """The state as of a transaction; read value by value, as it is asked for."""

    __slots__ = ("_transaction",)

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def __getitem__(self, key: Key) -> Value:
        row = self._transaction.first(statements.STATE_READ, key)
        if row is None:
            raise KeyError(key)
        return read_value(key.kind, row[0])

    def __iter__(self) -> Iterator[Key]:
        last = ("", "", "")
        while rows := list(self._transaction.rows(statements.STATE_PAGE, (*last, PAGE))):
            yield from (Key(*row[:3]) for row in rows if row[0] in TYPES)
            last = rows[-1][:3]

    def __len__(self) -> int:
        return sum(1 for _ in self)


def read_value(kind: str, text: str) -> Value:
    """The value that was stored. Raises ``InputError`` (``bad-state``) for a text that is none."""
    value: Value = TYPES[kind].from_data(json.loads(text))
    return value


def write_changes(transaction: Transaction, table: RoutingTable, changes: Changes) -> None:
    """Stores what a decision changed."""
    for key, value in changes.items():
        if value is None:
            transaction.execute(statements.STATE_DELETE, key)
            continue
        text = json.dumps(value.as_data(), ensure_ascii=False, separators=(",", ":"))
        due = due_of(table, key, value)
        microseconds = None if due is None else int(due * SECOND)
        transaction.execute(statements.STATE_WRITE, (*key, text, microseconds))
        transaction.wake = transaction.wake or due is not None


def due_of(table: RoutingTable, key: Key, value: Value) -> float | None:
    """When the value is to be looked at next: at its timeout, or when it may be forgotten."""
    if isinstance(value, SagaState) and key.name in table.sagas:
        definition = table.sagas[key.name]
        if machine.is_finished(definition, value):
            return value.entered_at + definition.forget_after
    if isinstance(value, GatherState) and value.complete:
        return value.deadline + LATE
    return table.due({key: value})


def keep_reply(transaction: Transaction, route: str, correlation_id: str, to: str) -> None:
    """Keeps where the result of a gathering goes."""
    transaction.execute(statements.STATE_WRITE, (REPLY, route, correlation_id, json.dumps(to), None))


def take_reply(transaction: Transaction, route: str, correlation_id: str) -> str | None:
    """Where the result of a gathering goes, once; None if nobody asked for it."""
    row = transaction.first(statements.STATE_READ, (REPLY, route, correlation_id))
    if row is None:
        return None
    transaction.execute(statements.STATE_DELETE, (REPLY, route, correlation_id))
    to: str = json.loads(row[0])
    return to
