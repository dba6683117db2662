"""The outbox: messages that are put in the caller's own transaction, so that both are there or neither."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pointsman.store.draft import Draft
from pointsman.store.transaction import Connection, Transaction

if TYPE_CHECKING:
    from pointsman.store.store import Store


class Outbox:
    """Puts messages in a transaction that somebody else commits; to be used by that thread only.

    Nothing else of the queue may be called within the transaction: it would wait for itself.
    """

    def __init__(self, store: Store, within: Callable[[Callable[[Transaction], Any]], Any], connection: Connection):
        self._store = store
        self._within = within
        self.execute: Callable[..., Any] = connection.execute
        """Runs a statement of the caller's in the transaction, and gives its rows."""

    def put(
        self,
        data: bytes | str,
        routing_key: str | Sequence[str] = "",
        *,
        priority: int = 5,
        delay: float | None = None,
        expires: float | None = None,
        id: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> str:
        """Puts a message as ``Queue.put`` does; it is there once the transaction is committed."""
        draft = Draft(data, routing_key, priority, delay, expires, id, metadata)

        def operation(transaction: Transaction) -> str:
            putter = self._store.putter(transaction)
            given = putter.put(draft)
            putter.finish()
            return given

        given: str = self._within(operation)
        return given

    def wake(self) -> None:
        """Wakes whoever waits, after the transaction was committed; otherwise they look within a second."""
        with self._store.guarded():
            self._store.bell.ring()


def of_transaction(store: Store, transaction: Transaction, connection: Connection) -> Outbox:
    """The outbox of a transaction that the queue itself commits."""
    return Outbox(store, lambda operation: operation(transaction), connection)


def of_connection(store: Store, connection: Connection) -> Outbox:
    """The outbox of a transaction on the caller's own connection: every message leaves it ready to be committed."""

    def within(operation: Callable[[Transaction], Any]) -> Any:
        # What this process remembers may come from a change that the caller rolled back.
        store.forget()
        transaction = Transaction(connection, store.settings.clock)
        result = operation(transaction)
        transaction.finish()
        store.forget()
        return result

    return Outbox(store, within, connection)
