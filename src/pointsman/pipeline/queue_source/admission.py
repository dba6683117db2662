"""What a stream does to the queue's file: it takes deliveries in the order of ``pop``, and ends them by their position.

A delivery that a stream has taken is leased to it without an end: its lease runs to an instant after all others, and
the distance from there is its position in the stream. Positions are given out once and without a gap, so a range of
them is the same set of deliveries at any time until they are acknowledged. What becomes ready later, because it was
delayed, brought back or replayed, gets a later position and can neither be skipped nor come twice.
"""

from __future__ import annotations

import json
import secrets
from functools import partial
from typing import Any, NamedTuple

from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import statements
from pointsman.store import statements as queue_statements
from pointsman.store.settling import Leased
from pointsman.store.store import Store
from pointsman.store.taking import EXPIRED
from pointsman.store.transaction import SECOND, Transaction

FIRST = 3_471_292_800 * SECOND
"""Position 0: the year 2080, behind every other lease and before what the doctor takes for damage."""
PAGE = 10_000
"""Deliveries that one transaction takes or ends at most, so that nobody waits for long."""
KIND = "pipeline-stream"
"""The kind of state under which is kept how far a stream has come."""
ALL = 1 << 62


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
        _write(transaction, subscription, standing)
        return standing

    return store.write(operation)


def check(store: Store, subscription: int, stream: str, position: int) -> Standing:
    """How far the stream has come, which goes on at this position.

    Raises ``StoreError``: ``stream-taken`` if another stream has begun on the subscription since, ``stream-behind`` if
    what comes after the position was acknowledged already.
    """
    with store.read() as connection:
        transaction = Transaction(connection, store.settings.clock)
        found = _owned(store, transaction, subscription, Standing(stream, position, position))
    if position < found.ended:
        problem = f"the checkpoint is at {position:,}, and the queue has acknowledged up to {found.ended:,}"
        raise StoreError("stream-behind", problem, file=store.path)
    return found


def take(store: Store, subscription: int, stream: str, position: int, most: int | None, last: int) -> int:
    """Takes deliveries, so that ``most`` of them are behind the position or all are; gives the last position.

    Only those of messages up to the number ``last``. Raises ``StoreError`` as ``check`` does.
    """
    standing = check(store, subscription, stream, position)
    end = ALL if most is None else position + most
    while standing.taken < end and is_anything_to_take(store, subscription):
        count = min(PAGE, end - standing.taken)
        moved, standing = store.write(
            partial(_take_page, store, subscription=subscription, standing=standing, count=count, last=last)
        )
        if moved < count:
            break
    return min(standing.taken, end)


def end(store: Store, subscription: int, stream: str, position: int) -> None:
    """Acknowledges all deliveries up to a position; to do so again changes nothing.

    Raises ``StoreError`` (``stream-taken``).
    """
    standing = Standing(stream, position, position)
    with store.read() as connection:
        standing = _owned(store, Transaction(connection, store.settings.clock), subscription, standing)
    while standing.ended < position:
        standing = store.write(
            partial(_end_page, store, subscription=subscription, standing=standing, position=position)
        )


def give_up(store: Store, subscription: int, places: list[tuple[int, int, int, str]]) -> int:
    """Makes dead letters of deliveries that were taken: until, sequence, via and reason; gives how many there were."""
    return store.write(partial(_give_up, store, subscription=subscription, places=places))


def is_anything_to_take(store: Store, subscription: int) -> bool:
    """Whether something is ready, or due; looks without a lock, as Spark asks many times a second."""
    with store.read() as connection:
        now = Transaction(connection, store.settings.clock).now
        questions = (
            (statements.READY_ANY, subscription),
            (statements.DELAYED_ANY, now),
            (statements.LEASED_ANY, now),
        )
        return any(next(iter(connection.execute(text, (value,))), None) is not None for text, value in questions)


def _take_page(
    store: Store, transaction: Transaction, subscription: int, standing: Standing, count: int, last: int
) -> tuple[int, Standing]:
    standing = _owned(store, transaction, subscription, standing)
    store.subscriptions.refresh(transaction)
    while not store.settler.sweep(transaction):
        continue
    first = FIRST + standing.taken
    transaction.execute(statements.TAKE, (first, subscription, last, count))
    bounds = (first, first + count, subscription)
    highest = transaction.first(statements.TAKEN_LAST, bounds)[0]
    if highest is None:
        return 0, standing
    transaction.execute(statements.READY_DELETE, bounds)
    expired = transaction.rows(statements.TAKEN_EXPIRED, (*bounds, transaction.now))
    _give_up(store, transaction, subscription, [(*place, EXPIRED) for place in expired])
    standing = standing._replace(taken=highest - FIRST)
    _write(transaction, subscription, standing)
    return highest - first, standing


def _end_page(store: Store, transaction: Transaction, subscription: int, standing: Standing, position: int) -> Standing:
    standing = _owned(store, transaction, subscription, standing)
    through = max(standing.ended, min(position, standing.ended + PAGE))
    bounds = (FIRST + standing.ended, FIRST + through, subscription)
    rows: list[Any] = list(transaction.rows(statements.TAKEN_END, bounds))
    if any(via for _, via in rows):
        # A message that came by several routes is done once for each of them.
        for sequence, _ in rows:
            store.settler.done(transaction, sequence)
    else:
        store.settler.done_many(transaction, [sequence for sequence, _ in rows])
    standing = standing._replace(ended=through)
    _write(transaction, subscription, standing)
    return standing


def _give_up(store: Store, transaction: Transaction, subscription: int, places: list[tuple[int, int, int, str]]) -> int:
    count = 0
    for until, sequence, via, reason in places:
        if reason != EXPIRED:
            # They may be damaged as well, and then could not be read.
            transaction.execute(statements.TAKEN_FORGET_TEXTS, (until, subscription, sequence, via))
        row = transaction.first(queue_statements.LEASED_TAKE, (until, subscription, sequence, via, 0))
        if row is not None:
            store.settler.give_up(transaction, Leased(subscription, sequence, via, *row), reason)
            count += 1
    return count


def _owned(store: Store, transaction: Transaction, subscription: int, standing: Standing) -> Standing:
    """How far this stream has come; what is given, if everything was purged and this too.

    Raises ``StoreError`` (``stream-taken``).
    """
    found = _read(transaction, subscription) or standing
    if found.stream != standing.stream:
        problem = "another query has begun to stream the same subscription, with a checkpoint of its own"
        raise StoreError("stream-taken", problem, file=store.path)
    return found


def _read(transaction: Transaction, subscription: int) -> Standing | None:
    row = transaction.first(queue_statements.STATE_READ, (KIND, str(subscription), ""))
    return None if row is None else Standing(**json.loads(row[0]))


def _write(transaction: Transaction, subscription: int, standing: Standing) -> None:
    text = json.dumps(standing._asdict())
    transaction.execute(queue_statements.STATE_WRITE, (KIND, str(subscription), "", text, None))
