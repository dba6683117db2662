"""The durable queue."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from pointsman.errors import MessageError, StoreError
from pointsman.patterns.pattern import Pattern
from pointsman.store import inspect, maintenance, subscription_changes
from pointsman.store.message import DeadLetter, Draft, PutId, Sizes, StoredMessage, microseconds
from pointsman.store.outbox import Outbox, of_connection, of_transaction
from pointsman.store.pop import Asked, Popping, receipt
from pointsman.store.settings import QueueSettings
from pointsman.store.settle import acknowledge
from pointsman.store.store import Store
from pointsman.store.subscriptions import Subscription
from pointsman.store.transaction import Transaction
from pointsman.store.wakeup import Listener


def consume(
    queue: Queue, pattern: Asked, subscription: str | None, lease: float | None, wait: float | None
) -> Iterator[StoredMessage]:
    """As ``Queue.consume``."""
    process = os.getpid()
    with queue.store.guarded():
        listener = queue.store.bell.listen()
    try:
        message = None
        while True:
            message = _next(queue, listener, message, pattern, subscription, lease, wait)
            if message is None:
                return
            try:
                yield message
            except GeneratorExit:
                # A process that was forked here leaves it to its parent; a queue that is closed, to the lease.
                if os.getpid() == process:
                    with suppress(StoreError):
                        queue.nack(message, delay=0)
                raise
    finally:
        with queue.store.guarded():
            listener.close()


def _next(
    queue: Queue,
    listener: Listener,
    message: StoredMessage | None,
    pattern: Asked,
    subscription: str | None,
    lease: float | None,
    wait: float | None,
) -> StoredMessage | None:
    if message is None:
        following = queue.pop(pattern, subscription=subscription, lease=lease)
    else:
        following = queue.ack_and_pop(message, pattern, subscription=subscription, lease=lease)
    end = None if wait is None else time.monotonic() + wait
    while following is None:
        left = 60.0 if end is None else end - time.monotonic()
        if left <= 0:
            return None
        listener.wait(min(left, inspect.until_due(queue.store)))
        following = queue.pop(pattern, subscription=subscription, lease=lease)
    return following


Key = str | Sequence[str]


class Queue:
    """Messages in one SQLite file, each delivered at least once to everybody who is to get it.

    >>> with Queue(":memory:") as queue:
    ...     _ = queue.put(data=b"two laptops", key="orders.electronics.laptops")
    ...     message = queue.pop("orders.#.laptops")
    ...     message.data, queue.ack(message), queue.pop()
    (b'two laptops', True, None)

    A message goes to the queue itself, from where ``pop`` takes it, and as a copy to each durable subscription whose
    pattern matches. A call that changes something returns when that is on disk; calls of several threads at a time
    share one sync. A call that raises has changed nothing. Safe between threads and processes, and after a fork.

    ``settings`` are those of ``QueueSettings``. Raises ``StoreError`` and ``InputError`` (``bad-setting``).
    """

    def __init__(self, path: str | Path, **settings: Any) -> None:
        self.settings = QueueSettings(**settings)
        self.store = Store(path, self.settings)
        self._popping = Popping(self.store)

    def __repr__(self) -> str:
        return f"Queue({str(self.store.path)!r})"

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; what is leased stays leased until its time runs out."""
        self.store.close()

    # -- putting

    def put(
        self,
        data: bytes | str,
        key: Key = "",
        *,
        priority: int = 5,
        delay: float | None = None,
        expires: float | None = None,
        id: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> PutId:
        """Puts a message and gives its id, a text whose ``duplicate`` says that nothing was put.

        The key may be given as its segments. 1 is the highest priority, 10 the lowest. ``delay`` seconds pass before it
        can be taken; after ``expires`` seconds it becomes a dead letter instead. A message whose ``id`` was put before,
        within the queue's ``dedupe`` seconds, is not put again: it is a duplicate.

        Raises ``SubjectError``, ``MessageError``, and ``StoreError`` (``queue-full``, ``too-large``, ``disk-full``, …).
        """
        draft = Draft(data, key, priority, delay, expires, id, metadata)
        self.store.check_open()
        sequence = self.store.quick.put(draft)
        if sequence is not None:
            return PutId(f"{self.store.file}-{sequence}")
        return self._put(draft)

    def _put(self, draft: Draft) -> PutId:
        def operation(transaction: Transaction) -> PutId:
            putter = self.store.putter(transaction)
            given = putter.put(draft)
            putter.finish()
            return given

        return self.store.write(operation)

    def put_many(self, messages: Iterable[Draft | Sequence[Any]]) -> list[PutId]:
        """Puts messages, all or none, and gives their ids as ``put`` does.

        Each is a ``Draft``, or a tuple of its first fields.
        """
        return self.store.write(lambda transaction: self.store.putter(transaction).put_each(messages))

    @contextmanager
    def transaction(self) -> Iterator[Outbox]:
        """A transaction of one's own on the file: messages are put together with what is changed in other tables."""
        with self.store.exclusive() as transaction:
            yield of_transaction(self.store, transaction, self.store.writer.connection)

    def outbox(self, connection: Any) -> Outbox:
        """Puts messages within the transaction that is open on a connection of the caller's; begins one if none is.

        The messages are there when the caller commits. Whoever waits for them is woken by ``Outbox.wake``, or else
        within a second. The connection is apsw's: Python's sqlite3 has a copy of SQLite of its own, and two copies in
        one process do not see each other's locks. Raises ``InputError`` (``bad-connection``).
        """
        return of_connection(self.store, connection)

    # -- taking

    def pop(
        self, pattern: Asked = None, *, subscription: str | None = None, lease: float | None = None
    ) -> StoredMessage | None:
        """Leases the first message; None if there is none.

        The first is the one of the highest priority that was put first. It is taken from the queue itself: with a
        ``pattern``, as text or as its segments, the first whose key matches. With the name of a durable
        ``subscription`` it is taken from what that has.

        Raises ``PatternError``, ``StoreError`` (``no-subscription``), and ``InputError`` (``bad-usage``) for both.
        """
        return self._popping.one(pattern, subscription, lease)

    def pop_many(
        self,
        count: int,
        pattern: Asked = None,
        *,
        subscription: str | None = None,
        lease: float | None = None,
    ) -> list[StoredMessage]:
        """Leases up to ``count`` messages in one transaction, as ``pop`` does."""
        return self._popping.many(count, pattern, subscription, lease)

    def ack_and_pop(
        self,
        message: StoredMessage,
        pattern: Asked = None,
        *,
        subscription: str | None = None,
        lease: float | None = None,
    ) -> StoredMessage | None:
        """Acknowledges one message and leases the next, in one transaction; a lease that was lost stays lost."""
        following = self._popping.next(message, pattern, subscription, lease)
        self.store.tidy()
        return following

    def consume(
        self,
        pattern: Asked = None,
        *,
        subscription: str | None = None,
        lease: float | None = None,
        wait: float | None = None,
    ) -> Iterator[StoredMessage]:
        """Messages as they come; each is acknowledged when the next one is asked for.

        Ends when none has come for ``wait`` seconds, never if that is None. A message at which the caller stopped is
        given back, to be taken again at once.
        """
        return consume(self, pattern, subscription, lease, wait)

    def __iter__(self) -> Iterator[StoredMessage]:
        """As ``consume()``."""
        return self.consume()

    # -- settling

    def ack(self, message: StoredMessage) -> bool:
        """The message is done, and never delivered again; False if its lease had run out and somebody else has it."""
        held = self._popping.done(message)
        self.store.tidy()
        return held

    def ack_many(self, messages: Iterable[StoredMessage]) -> int:
        """Acknowledges messages in one transaction, and gives how many leases were still held."""
        held = self.store.write(lambda transaction: acknowledge(self.store.settler, transaction, messages))
        self.store.tidy()
        return held

    def nack(self, message: StoredMessage, *, delay: float | None = None, error: str | None = None) -> bool:
        """The message failed: it comes again after ``delay`` seconds, by default after the queue's backoff.

        After its last attempt it becomes a dead letter, with ``error`` as its last error. False if the lease was lost.
        """
        if delay is not None:
            microseconds(delay, "delay")
        if error is not None and not isinstance(error, str):
            raise MessageError("bad-message", f"the error is {type(error).__name__}, not text")

        def operation(transaction: Transaction) -> bool:
            self.store.subscriptions.refresh(transaction)
            leased = self.store.settler.take(transaction, receipt(message))
            if leased is not None:
                self.store.settler.give_back(transaction, leased, delay, error)
            return leased is not None

        return self.store.write(operation)

    def extend(self, message: StoredMessage, lease: float) -> StoredMessage | None:
        """Leases the message for ``lease`` seconds from now, and gives it anew; None if the lease was lost."""
        length = microseconds(lease, "lease")
        return self.store.write(lambda transaction: inspect.extend(self.store, transaction, message, length))

    # -- looking

    def peek(self, pattern: Asked = None, *, subscription: str | None = None, count: int = 1) -> list[StoredMessage]:
        """The first messages that are ready, which they stay; all at once in memory.

        ``pop`` would pass over one that is damaged, which its ``is_whole`` tells.
        """
        return inspect.peek(self.store, self._popping.asked(pattern, subscription), subscription, count)

    def get(self, id: str) -> StoredMessage | None:
        """The message of this id; the last one if several have it, None if there is none.

        Raises ``StoreError`` (``message-damaged``) for one that is not what was put.
        """
        return inspect.get(self.store, id)

    def status(self, id: str) -> str | None:
        """``ready``, ``delayed``, ``leased``, ``dead``, ``done`` or ``archived``; None if there is no such message.

        Of several deliveries, that of the first of these words.
        """
        return inspect.status(self.store, id)

    def messages(self, after: int = 0, limit: int = 1000) -> list[StoredMessage]:
        """A page of everything that is stored, whatever became of it, in the order of putting.

        ``is_whole`` of a message tells whether it is what was put.
        """
        return inspect.messages(self.store, after, limit)

    def size(self, subscription: str | None = None) -> Sizes:
        """How much is in which status, of one subscription (the empty name is the queue itself) or of all."""
        return inspect.size(self.store, subscription)

    @property
    def unfinished(self) -> int:
        """Messages that are not done and not dead; what ``maxsize`` is about."""
        return inspect.unfinished(self.store)

    @property
    def full(self) -> bool:
        """Whether the next ``put`` would raise ``queue-full``."""
        return self.settings.maxsize is not None and self.unfinished >= self.settings.maxsize

    def dead_letters(self, subscription: str | None = None, *, limit: int = 1000, after: int = 0) -> list[DeadLetter]:
        """A page of what was given up and why, from the message number after ``after``.

        All letters of a message are on one page, which may have more than ``limit`` for it.
        """
        return inspect.dead_letters(self.store, subscription, limit, after)

    # -- upkeep

    def requeue(self, ids: Iterable[str] | None = None, *, subscription: str | None = None) -> int:
        """Makes dead letters ready again, those of these messages or all, and gives how many."""
        return maintenance.requeue(self.store, ids, subscription)

    def retry(self, id: str) -> bool:
        """Makes a message ready again at once that is delayed, dead, done or archived; False if it is none of these.

        One that is done or archived comes again to all that it went to, as far as they are still there; False if none
        of them is, or if they were more than 1,000.
        """
        return maintenance.retry(self.store, id)

    def prune(self, older_than: float = 0.0, *, archive: bool = False) -> int:
        """Deletes what was done ``older_than`` seconds ago or longer, or keeps it as archived; gives how many.

        Also deletes the keys that no message has any more.
        """
        return maintenance.prune(self.store, microseconds(older_than, "older_than"), archive=archive)

    def purge(self) -> int:
        """Deletes every message and all state, and keeps the subscriptions; gives how many messages."""
        return maintenance.purge(self.store)

    def vacuum(self) -> None:
        """Gives unused room back to the disk."""
        maintenance.vacuum(self.store)

    def replay(self, start: int | datetime = 1, *, subscription: str | None = None) -> int:
        """Makes what is done or archived ready again, from the message ``start`` on, for one subscription.

        ``start`` is a number, or a time. For the queue itself if no subscription is named. Gives how many. A delivery
        that is not done stays as it is. Done in pages: one that is broken off has replayed the first of them, and can
        be called again.
        """
        return maintenance.replay(self.store, start, subscription)

    # -- subscriptions

    def subscribe(
        self,
        name: str,
        pattern: str | Sequence[str] | Pattern | None,
        *,
        lease: float | None = None,
        max_attempts: int | None = None,
        start: int | None = None,
    ) -> Subscription:
        """Makes a durable subscription, which gets a copy of every message put from now on whose key matches.

        With ``start``, also of those that are stored already, from that number on. Without a pattern, only the broker
        sends to it. To make the same one again changes nothing. Raises ``PatternError``, and ``StoreError``
        (``subscription-differs``).
        """
        return subscription_changes.subscribe(
            self.store, name, None if pattern is None else self._popping.pattern(pattern), lease, max_attempts, start
        )

    def unsubscribe(self, name: str) -> int:
        """Ends a durable subscription, and gives how many deliveries it had not finished, which are dropped.

        Done in pages: one that is broken off has dropped the first of them, and can be called again.
        """
        return subscription_changes.unsubscribe(self.store, name)

    def subscriptions(self) -> list[Subscription]:
        """The durable subscriptions, in the order in which they were made."""
        return inspect.subscriptions(self.store)
