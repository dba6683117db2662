"""What a stream does to the queue's file: it takes deliveries in the order of ``pop``, and ends them by their position.

A delivery that a stream has taken is leased to it without an end: its lease runs to an instant after all others, and
the distance from there is its position in the stream. Positions are given out once and without a gap, so a range of
them is the same set of deliveries at any time until they are acknowledged. What becomes ready later, because it was
delayed, brought back or replayed, gets a later position and can neither be skipped nor come twice.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pointsman.pipeline.queue_source import statements
from pointsman.pipeline.queue_source.standing import Standing, begin, check, owned, write_standing
from pointsman.store import statements as queue_statements
from pointsman.store.settling import Leased
from pointsman.store.store import Store
from pointsman.store.subscriptions import MAIN
from pointsman.store.taking import EXPIRED
from pointsman.store.transaction import SECOND, Transaction

FIRST = 3_471_292_800 * SECOND
"""Position 0: the year 2080, behind every other lease and before what the doctor takes for damage."""
PAGE = 10_000
"""Deliveries that one transaction takes or ends at most, so that nobody waits for long."""
ALL = 1 << 62


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
        standing = owned(store, Transaction(connection, store.settings.clock), subscription, standing)
    while standing.ended < position:
        standing = store.write(
            partial(_end_page, store, subscription=subscription, standing=standing, position=position)
        )


def give_back(store: Store, subscription: int) -> int:
    """Ends the stream of a subscription: what it has not acknowledged is ready again; gives how many that is."""
    stream = begin(store, subscription).stream
    count = 0
    while True:
        moved, standing = store.write(partial(_give_back_page, store, subscription=subscription, stream=stream))
        count += moved
        if standing.ended == standing.taken:
            return count


def give_up(store: Store, subscription: int, places: list[tuple[int, int, int, str]]) -> int:
    """Makes dead letters of deliveries that were taken: until, sequence, via and reason; gives how many there were."""
    return store.write(partial(_give_up, store, subscription=subscription, places=places))


def is_anything_to_take(store: Store, subscription: int) -> bool:
    """Whether something is ready, or due; looks without a lock, as Spark asks many times a second."""
    with store.read() as connection:
        transaction = Transaction(connection, store.settings.clock)
        now = transaction.now
        if transaction.listed < transaction.sequence and subscription == MAIN:
            return True
        questions = (
            (statements.READY_ANY, subscription),
            (statements.DELAYED_ANY, now),
            (statements.LEASED_ANY, now),
        )
        return any(next(iter(connection.execute(text, (value,))), None) is not None for text, value in questions)


def _take_page(
    store: Store, transaction: Transaction, subscription: int, standing: Standing, count: int, last: int
) -> tuple[int, Standing]:
    standing = owned(store, transaction, subscription, standing)
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
    write_standing(transaction, subscription, standing)
    return highest - first, standing


def _end_page(store: Store, transaction: Transaction, subscription: int, standing: Standing, position: int) -> Standing:
    standing = owned(store, transaction, subscription, standing)
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
    write_standing(transaction, subscription, standing)
    return standing


def _give_back_page(store: Store, transaction: Transaction, subscription: int, stream: str) -> tuple[int, Standing]:
    standing = owned(store, transaction, subscription, Standing(stream, 0, 0))
    through = min(standing.taken, standing.ended + PAGE)
    bounds = (FIRST + standing.ended, FIRST + through, subscription)
    rows = list(transaction.rows(statements.TAKEN_BACK, bounds))
    for sequence, via, *rest in rows:
        store.settler.make_ready(transaction, Leased(subscription, sequence, via, *rest))
    standing = standing._replace(ended=through)
    write_standing(transaction, subscription, standing)
    return len(rows), standing


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
