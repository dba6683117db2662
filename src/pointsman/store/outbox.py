"""The outbox: messages that are put in the caller's own transaction, so that both are there or neither."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from pointsman.errors import InputError
from pointsman.store import statements
from pointsman.store.connection import Place
from pointsman.store.message import Draft, PutId
from pointsman.store.transaction import Connection, Transaction

if TYPE_CHECKING:
    from pointsman.store.store import Store


class Outbox:
    """Puts messages in a transaction that somebody else commits; to be used by that thread only.

    Nothing else of the queue may be called within the transaction: it would wait for itself.
    """

    def __init__(self, store: Store, within: Callable[[Callable[[Transaction], Any]], Any], connection: Connection):
        self._store = store
        self.within = within
        """Runs an operation in the transaction, and leaves it ready to be committed."""
        self.execute: Callable[..., Any] = connection.execute
        """Runs a statement of the caller's in the transaction, and gives its rows."""

    def put(
        self,
        data: bytes | str,
        key: str | Sequence[str] = "",
        *,
        priority: int = 5,
        delay: float | None = None,
        expires: float | None = None,
        id: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> PutId:
        """Puts a message as ``Queue.put`` does; it is there once the transaction is committed."""
        draft = Draft(data, key, priority, delay, expires, id, metadata)

        def operation(transaction: Transaction) -> PutId:
            putter = self._store.putter(transaction)
            given = putter.put(draft)
            putter.finish()
            return given

        given: PutId = self.within(operation)
        return given

    def wake(self) -> None:
        """Wakes whoever waits, after the transaction was committed; otherwise they look within a second."""
        with self._store.guarded():
            self._store.bell.ring()


def of_transaction(store: Store, transaction: Transaction, connection: Connection) -> Outbox:
    """The outbox of a transaction that the queue itself commits."""

    def within(operation: Callable[[Transaction], Any]) -> Any:
        numbers = transaction.numbers()
        try:
            with _wholly(connection):
                return operation(transaction)
        except BaseException:
            transaction.restore(numbers)
            store.forget()
            raise

    return Outbox(store, within, connection)


def of_connection(store: Store, connection: apsw.Connection) -> Outbox:
    """The outbox of a transaction on the caller's own connection: every message leaves it ready to be committed.

    Raises ``InputError`` (``bad-connection``) for one that is not apsw's, or not of the queue's file.
    """
    if not isinstance(connection, apsw.Connection):
        # Two copies of SQLite in one process do not see each other's locks: both write at a time, and one is lost.
        problem = f"it is a {type(connection).__module__} connection, not apsw's"
        raise InputError("bad-connection", problem)
    if not connection.filename or Path(store.path).resolve() != Path(connection.filename).resolve():
        raise InputError("bad-connection", f"it is open on {connection.filename!r}, not on {store.path!r}")

    def within(operation: Callable[[Transaction], Any]) -> Any:
        Place(store.path).check(connection)
        if not connection.in_transaction:
            connection.execute(statements.BEGIN)
        with _wholly(connection):
            connection.execute(statements.CONTROL_LOCK)
            # From here on nobody else writes. What this process remembers may come from a change that was rolled back.
            store.forget()
            try:
                transaction = Transaction(connection, store.settings.clock)
                transaction.list_new()
                result = operation(transaction)
                transaction.finish()
            finally:
                store.forget()
        return result

    return Outbox(store, within, connection)


@contextmanager
def _wholly(connection: Connection) -> Iterator[None]:
    """A part of a transaction of which nothing is left if it fails."""
    connection.execute(statements.SAVE)
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute(statements.UNDO)
            connection.execute(statements.RELEASE)
        raise
    connection.execute(statements.RELEASE)
