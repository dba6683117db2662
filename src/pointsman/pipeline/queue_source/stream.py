"""The stream of a subscription, in the queue's file: it takes deliveries in the order of ``pop``, each at a position.

A delivery that a stream takes is leased to it for ever: the lease ends at an instant after all others, whose distance
from ``FIRST`` is the position of the delivery. Positions are used once and have no gaps, so a range of them is the same
set of deliveries until they are acknowledged. A delivery that becomes ready later, because it was delayed, requeued or
replayed, gets a later position: it is neither skipped nor read twice.
"""

from __future__ import annotations

import json
import secrets
from functools import partial
from typing import Any, NamedTuple

from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import sql
from pointsman.store import statements
from pointsman.store.lease import EXPIRED
from pointsman.store.settle import Leased
from pointsman.store.store import Store
from pointsman.store.subscriptions import MAIN
from pointsman.store.transaction import SECOND, Connection, Transaction

FIRST = 3_471_292_800 * SECOND
"""Position 0: the year 2080, behind every other lease and before what the doctor takes for damage."""
PAGE = 10_000
"""Deliveries that one transaction takes or ends at most, so that other writers wait only briefly."""
ALL = 1 << 62
KIND = "pipeline-stream"
"""The kind of state under which the progress is kept."""


class Progress(NamedTuple):
    """How far the stream of a subscription has come."""

    stream: str
    """Which stream it is; the one that was begun last has the subscription."""
    taken: int
    ended: int


def find_subscription(store: Store, name: str) -> int | None:
    """The number of a subscription; None if there is none of this name."""
    with store.read() as connection:
        row = next(iter(connection.execute(sql.SUBSCRIPTION, (name,))), None)
    return None if row is None else int(row[0])


def bounds(after: int, through: int, subscription: int) -> tuple[int, int, int]:
    """The parameters of statements about the positions after one, up to and including another."""
    return FIRST + after, FIRST + through, subscription


class Stream:
    """The stream of one subscription. Works in pages; every call may be repeated after an interruption."""

    def __init__(self, store: Store, subscription: int) -> None:
        self._store = store
        self._subscription = subscription

    def progress(self) -> Progress | None:
        """The progress; None if there never was a stream."""
        with self._store.read() as connection:
            return self._read(connection)

    def begin(self) -> Progress:
        """Begins a new stream, which takes over the subscription at the first unacknowledged delivery."""

        def operation(transaction: Transaction) -> Progress:
            found = self._read(transaction) or Progress("", 0, 0)
            return self._write(transaction, found._replace(stream=secrets.token_hex(8)))

        return self._store.write(operation)

    def check(self, stream: str, position: int) -> Progress:
        """The progress of the stream that goes on at this position.

        Raises ``StoreError``: ``stream-taken`` if another stream has begun on the subscription since, ``stream-behind``
        if what comes after the position was acknowledged already.
        """
        with self._store.read() as connection:
            found = self._owned(connection, Progress(stream, position, position))
        if position < found.ended:
            problem = f"the checkpoint is at {position:,}, and the queue has acknowledged up to {found.ended:,}"
            raise StoreError("stream-behind", problem, file=self._store.path)
        return found

    def take(self, stream: str, position: int, most: int | None, last: int = ALL) -> int:
        """Takes deliveries until ``most`` of them are behind the position, or all are; returns the last position.

        Only those of messages up to the number ``last``. Raises ``StoreError`` as ``check`` does.
        """
        progress = self.check(stream, position)
        end = ALL if most is None else position + most
        while progress.taken < end and self.is_anything_to_take():
            count = min(PAGE, end - progress.taken)
            moved, progress = self._store.write(partial(self._take_page, known=progress, count=count, last=last))
            if moved < count:
                break
        return min(progress.taken, end)

    def end(self, stream: str, position: int) -> None:
        """Acknowledges all deliveries up to a position. Raises ``StoreError`` (``stream-taken``)."""
        with self._store.read() as connection:
            progress = self._owned(connection, Progress(stream, position, position))
        while progress.ended < position:
            progress = self._store.write(partial(self._end_page, known=progress, position=position))

    def release(self) -> int:
        """Ends the stream: makes its unacknowledged deliveries ready again, and returns how many there were."""
        stream = self.begin().stream
        count = 0
        while True:
            moved, progress = self._store.write(partial(self._release_page, known=Progress(stream, 0, 0)))
            count += moved
            if progress.ended == progress.taken:
                return count

    def give_up(self, places: list[tuple[int, int, int, str]]) -> int:
        """Makes dead letters of deliveries: until, sequence, via and reason; returns how many were still taken."""
        return self._store.write(partial(self._give_up, places=places))

    def is_anything_to_take(self) -> bool:
        """Whether something is ready, or due; looks without a lock, as Spark asks many times a second."""
        with self._store.read() as connection:
            transaction = Transaction(connection, self._store.settings.clock)
            if transaction.listed < transaction.sequence and self._subscription == MAIN:
                return True
            questions = (
                (sql.READY_ANY, self._subscription),
                (sql.DELAYED_ANY, transaction.now),
                (sql.LEASED_ANY, transaction.now),
            )
            return any(transaction.first(text, (value,)) is not None for text, value in questions)

    # -- pages, each in a transaction of its own

    def _take_page(self, transaction: Transaction, known: Progress, count: int, last: int) -> tuple[int, Progress]:
        store, progress = self._store, self._owned(transaction, known)
        store.subscriptions.refresh(transaction)
        while not store.settler.sweep(transaction):
            continue
        first = FIRST + progress.taken
        transaction.execute(sql.TAKE, (first, self._subscription, last, count))
        page = (first, first + count, self._subscription)
        highest = transaction.first(sql.TAKEN_LAST, page)[0]
        if highest is None:
            return 0, progress
        transaction.execute(sql.READY_DELETE, page)
        expired = transaction.rows(sql.TAKEN_EXPIRED, (*page, transaction.now))
        self._give_up(transaction, [(*place, EXPIRED) for place in expired])
        return highest - first, self._write(transaction, progress._replace(taken=highest - FIRST))

    def _end_page(self, transaction: Transaction, known: Progress, position: int) -> Progress:
        progress = self._owned(transaction, known)
        through = max(progress.ended, min(position, progress.ended + PAGE))
        page = bounds(progress.ended, through, self._subscription)
        rows: list[Any] = list(transaction.rows(sql.TAKEN_END, page))
        if any(via for _, via in rows):
            # A message that came by several routes is done once for each of them.
            for sequence, _ in rows:
                self._store.settler.done(transaction, sequence)
        else:
            self._store.settler.done_many(transaction, [sequence for sequence, _ in rows])
        return self._write(transaction, progress._replace(ended=through))

    def _release_page(self, transaction: Transaction, known: Progress) -> tuple[int, Progress]:
        progress = self._owned(transaction, known)
        through = min(progress.taken, progress.ended + PAGE)
        rows = list(transaction.rows(sql.TAKEN_BACK, bounds(progress.ended, through, self._subscription)))
        for row in rows:
            self._store.settler.make_ready(transaction, Leased(self._subscription, *row))
        return len(rows), self._write(transaction, progress._replace(ended=through))

    def _give_up(self, transaction: Transaction, places: list[tuple[int, int, int, str]]) -> int:
        count = 0
        for until, sequence, via, reason in places:
            place = (until, self._subscription, sequence, via)
            if reason != EXPIRED:
                # They may be damaged as well, and then could not be read.
                transaction.execute(sql.TAKEN_FORGET_TEXTS, place)
            row = transaction.first(statements.LEASED_TAKE, (*place, 0))
            if row is not None:
                self._store.settler.give_up(transaction, Leased(self._subscription, sequence, via, *row), reason)
                count += 1
        return count

    # -- the progress, as the file keeps it

    def _owned(self, connection: Connection | Transaction, known: Progress) -> Progress:
        """The progress of this stream; what is known, if everything was purged and the progress with it.

        Raises ``StoreError`` (``stream-taken``).
        """
        found = self._read(connection) or known
        if found.stream != known.stream:
            problem = "another query has begun to stream the same subscription, with a checkpoint of its own"
            raise StoreError("stream-taken", problem, file=self._store.path)
        return found

    def _read(self, connection: Connection | Transaction) -> Progress | None:
        row = next(iter(connection.execute(statements.STATE_READ, (KIND, str(self._subscription), ""))), None)
        return None if row is None else Progress(**json.loads(row[0]))

    def _write(self, transaction: Transaction, progress: Progress) -> Progress:
        text = json.dumps(progress._asdict())
        transaction.execute(statements.STATE_WRITE, (KIND, str(self._subscription), "", text, None))
        return progress
