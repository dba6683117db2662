"""How far the stream of a subscription has come, and which stream that is: kept in the file of the queue."""

from __future__ import annotations

import json
import secrets
from typing import NamedTuple

from pointsman.errors import StoreError
from pointsman.store import statements
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction

KIND = "pipeline-stream"
"""The kind of state under which is kept how far a stream has come."""


class Standing(NamedTuple):
    """How far the stream of a subscription has come."""

    stream: str
    """Which stream it is; the one that was begun last has the subscription."""
    taken: int
    ended: int


def standing_of(store: Store, subscription: int) -> Standing | None:
    """How far the stream of a subscription has come; None if there never was one."""
    with store.read() as connection:
        return _read(Transaction(connection, store.settings.clock), subscription)


def begin(store: Store, subscription: int) -> Standing:
    """A new stream takes over the subscription, from the first delivery that was not acknowledged."""

    def operation(transaction: Transaction) -> Standing:
        found = _read(transaction, subscription) or Standing("", 0, 0)
        standing = found._replace(stream=secrets.token_hex(8))
        write_standing(transaction, subscription, standing)
        return standing

    return store.write(operation)


def check(store: Store, subscription: int, stream: str, position: int) -> Standing:
    """How far the stream has come, which goes on at this position.

    Raises ``StoreError``: ``stream-taken`` if another stream has begun on the subscription since, ``stream-behind`` if
    what comes after the position was acknowledged already.
    """
    with store.read() as connection:
        transaction = Transaction(connection, store.settings.clock)
        found = owned(store, transaction, subscription, Standing(stream, position, position))
    if position < found.ended:
        problem = f"the checkpoint is at {position:,}, and the queue has acknowledged up to {found.ended:,}"
        raise StoreError("stream-behind", problem, file=store.path)
    return found


def owned(store: Store, transaction: Transaction, subscription: int, standing: Standing) -> Standing:
    """How far this stream has come; what is given, if everything was purged and this too.

    Raises ``StoreError`` (``stream-taken``).
    """
    found = _read(transaction, subscription) or standing
    if found.stream != standing.stream:
        problem = "another query has begun to stream the same subscription, with a checkpoint of its own"
        raise StoreError("stream-taken", problem, file=store.path)
    return found


def _read(transaction: Transaction, subscription: int) -> Standing | None:
    row = transaction.first(statements.STATE_READ, (KIND, str(subscription), ""))
    return None if row is None else Standing(**json.loads(row[0]))


def write_standing(transaction: Transaction, subscription: int, standing: Standing) -> None:
    """Keeps how far a stream has come, with what else the transaction does."""
    text = json.dumps(standing._asdict())
    transaction.execute(statements.STATE_WRITE, (KIND, str(subscription), "", text, None))
