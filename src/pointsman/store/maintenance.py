"""Maintenance: pruning of finished messages in small steps, and what is done to many messages, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pointsman.patterns.pattern import Pattern
from pointsman.store import inspect, statements
from pointsman.store.message import check_number
from pointsman.store.put import Target, address, addressed
from pointsman.store.settle import Leased
from pointsman.store.subscriptions import MAIN
from pointsman.store.transaction import SECOND, Transaction

if TYPE_CHECKING:
    from pointsman.store.store import Store


PRUNED_PAGE = 500
"""Messages, or keys, that one step looks at."""
PAUSE = 60 * SECOND
"""Microseconds from when nothing was left to prune until it is looked again."""


class Retention:
    """Prunes what was done longer ago than ``age`` microseconds; nothing if that is None. For who leads the writer."""

    def __init__(self, age: int | None, dedupe: int, clock: Callable[[], float]) -> None:
        self._age = age
        self._dedupe = dedupe
        self._clock = clock
        self._next = 0
        self._after = 0
        self._pruned = 0
        self._sweep: KeySweep | None = None

    @property
    def is_due(self) -> bool:
        """Whether there may be something to do; may be asked at any time."""
        return self._age is not None and self._clock() * SECOND >= self._next

    def step(self, transaction: Transaction) -> None:
        """Does a page of what is due, if anything is."""
        if self._age is None or not self.is_due:
            return
        if self._sweep is not None:
            if self._sweep.step(transaction):
                self._sweep = None
            return
        page = list(transaction.rows(statements.FINISHED_AFTER, (self._after, PRUNED_PAGE)))
        old = [(sequence,) for sequence, time in page if time <= transaction.now - self._age]
        delete(transaction, old, self._dedupe)
        self._pruned += len(old)
        # What is done is so about in the order of putting: behind a page of which nothing is old there is little.
        if len(page) == PRUNED_PAGE and old:
            self._after = page[-1][0]
            return
        transaction.execute(statements.SEEN_FORGET, (transaction.now - self._dedupe,))
        self._after, self._next = 0, int(self._clock() * SECOND) + PAUSE
        first = transaction.first(statements.MESSAGE_FIRST)[0]
        if self._pruned and self._pruned >= (0 if first is None else transaction.sequence - first + 1):
            self._pruned, self._next = 0, 0
            self._sweep = KeySweep()


class KeySweep:
    """Deletes the keys that no message has, in steps between which others may put and prune."""

    def __init__(self) -> None:
        self._used: set[int] = set()
        self._message = 0
        self._key = 0
        self._last: int | None = None

    def step(self, transaction: Transaction) -> bool:
        """Looks at a page of messages, or of keys when it has seen all messages; whether that was all."""
        if self._last is None:
            # Keys that are made from now on are not looked at.
            self._last = transaction.first(statements.KEY_LAST)[0] or 0
        rows = list(transaction.rows(statements.MESSAGE_KEYS, (self._message, PRUNED_PAGE)))
        self._used.update(key for _, key in rows)
        if rows:
            self._message = rows[-1][0]
        if len(rows) == PRUNED_PAGE:
            return False
        after = transaction.rows(statements.KEYS_AFTER, (self._key, PRUNED_PAGE))
        keys = [row[0] for row in after if row[0] <= self._last]
        unused = [(key,) for key in keys if key not in self._used]
        if unused:
            transaction.executemany(statements.KEY_DELETE, unused)
            # Whoever remembers the number of a key reads it anew.
            transaction.keys += 1
        if keys:
            self._key = keys[-1]
        return len(keys) < PRUNED_PAGE


def delete(transaction: Transaction, rows: list[tuple[int]], dedupe: int) -> None:
    """Deletes messages that are done; their ids are known for as long as they are to be."""
    noticed = transaction.now - dedupe
    transaction.executemany(statements.SEEN_ADD, ((row[0], noticed) for row in rows))
    for statement in (statements.MESSAGE_DELETE, statements.FINISHED_DELETE, statements.ADDRESSED_DELETE):
        transaction.executemany(statement, rows)


# -- upkeep of the queue: what is done to many messages, a page in each transaction, so that nobody waits for long


PAGE = 1000
Progress = Callable[[int], None]
"""Called with what each transaction has done."""


def _unseen(_: int) -> None:
    """The progress that nobody looks at."""


def requeue(store: Store, ids: Iterable[str] | None, subscription: str | None, progress: Progress = _unseen) -> int:
    """Makes dead letters ready again."""
    number = None
    if subscription is not None:
        with store.exclusive() as transaction:
            store.subscriptions.refresh(transaction)
            number = store.subscriptions.find(subscription).id
    if ids is not None:
        return sum(store.write(partial(_requeue_one, store, id=id, number=number)) for id in ids)
    count = 0
    after: int | None = 0
    while after is not None:
        moved, after = store.write(partial(_requeue_page, store, after=after, number=number))
        count += moved
        progress(moved)
    return count


def _requeue_one(store: Store, transaction: Transaction, id: str, number: int | None) -> int:
    sequence = inspect.sequence_of(store, transaction, id)
    if sequence is None:
        return 0
    dead = [row for row in transaction.rows(statements.DEAD_OF, (sequence,)) if number in (None, row[0])]
    return sum(store.settler.revive(transaction, sequence, *row) for row in dead)


def _requeue_page(store: Store, transaction: Transaction, after: int, number: int | None) -> tuple[int, int | None]:
    rows = list(transaction.rows(statements.DEAD_PAGE, (after, number, PAGE)))
    moved = sum(store.settler.revive(transaction, *row[:3]) for row in rows)
    # A message whose letters are not all on this page is come back to: they are dead letters still.
    return moved, rows[-1][0] - 1 if len(rows) == PAGE else None


def retry(store: Store, id: str) -> bool:
    """Makes a message ready again at once."""

    def operation(transaction: Transaction) -> bool:
        sequence = inspect.sequence_of(store, transaction, id)
        message = None if sequence is None else inspect.read_message(store, transaction, sequence)
        if sequence is None or message is None:
            return False
        moved = _requeue_one(store, transaction, id, None)
        for due, subscription, via in list(transaction.rows(statements.DELAYED_OF, (sequence,))):
            row = transaction.first(statements.DELAYED_TAKE, (due, subscription, sequence, via))
            store.settler.make_ready(transaction, Leased(subscription, sequence, via, *row))
            moved += 1
        if not moved and transaction.first(statements.FINISHED_FIND, (sequence,)) is not None:
            key = store.keys.number(transaction, message.routing_key)[1]
            store.subscriptions.refresh(transaction)
            for target in addressed(transaction, sequence, store.settings.main):
                if target.subscription in store.subscriptions.by_id:
                    _bring_back(store, transaction, target, sequence, message.priority, key)
                    moved += 1
        return moved > 0

    return store.write(operation)


def _bring_back(store: Store, transaction: Transaction, target: Target, sequence: int, priority: int, key: int) -> None:
    """Makes a delivery of a message ready that has none like it."""
    finished = transaction.first(statements.FINISHED_FIND, (sequence,)) is not None
    if finished:
        transaction.execute(statements.FINISHED_DELETE, (sequence,))
        transaction.unfinished += 1
    else:
        row = transaction.first(statements.PENDING_CHANGE, (sequence, 1))
        if row is None:
            # It has one delivery, which is open or a dead letter.
            others = int(transaction.first(statements.DEAD_ANY, (sequence,)) is None)
            transaction.execute(statements.PENDING_ADD, (sequence, others + 1))
            transaction.unfinished += 1 - others
        elif row[0] == 1:
            transaction.unfinished += 1
    store.settler.make_ready(
        transaction, Leased(target.subscription, sequence, target.via, priority, key, 0, target.note, None)
    )


def prune(store: Store, age: int, *, archive: bool, progress: Progress = _unseen) -> int:
    """Deletes, or archives, what has been done for long; and then the keys that no message has any more."""
    count, after, is_more = 0, 0, True
    while is_more:
        found, after = store.write(partial(_prune_page, store, after=after, age=age, archive=archive))
        count += found
        progress(found)
        is_more = after > 0
    if count and not archive:
        _forget_keys(store)
    return count


def _forget_keys(store: Store) -> None:
    sweep = KeySweep()
    while not store.write(sweep.step):
        pass


def _prune_page(store: Store, transaction: Transaction, after: int, age: int, *, archive: bool) -> tuple[int, int]:
    rows = list(transaction.rows(statements.FINISHED_OLD, (after, transaction.now - age, PAGE)))
    if archive:
        transaction.executemany(statements.FINISHED_ARCHIVE, rows)
    else:
        dedupe = int(store.settings.dedupe * SECOND)
        delete(transaction, rows, dedupe)
        transaction.execute(statements.SEEN_FORGET, (transaction.now - dedupe,))
    return len(rows), rows[-1][0] if len(rows) == PAGE else 0


def purge(store: Store) -> int:
    """Deletes every message and all state."""

    def operation(transaction: Transaction) -> int:
        count = int(transaction.first(statements.COUNT_MESSAGES)[0])
        for statement in statements.PURGE:
            transaction.execute(statement)
        transaction.unfinished = 0
        transaction.keys += 1
        transaction.returned += 1
        return count

    return store.write(operation)


def vacuum(store: Store) -> None:
    """Gives unused room back to the disk."""
    _forget_keys(store)
    with store.writer.alone() as connection:
        connection.execute(statements.VACUUM)
        connection.execute(statements.CHECKPOINT)
        store.writer.watch_log()


def replay(store: Store, start: int | datetime, subscription: str | None) -> int:
    """Makes what is done ready again."""
    if not isinstance(start, datetime):
        check_start(start)
    with store.exclusive() as transaction:
        store.subscriptions.refresh(transaction)
        first = _first_at(transaction, start) if isinstance(start, datetime) else start
        found = store.subscriptions.by_id.get(MAIN) if not subscription else store.subscriptions.find(subscription)
        last = transaction.sequence
    if found is None:
        return 0
    pattern = None if found.pattern is None else Pattern(found.pattern, found.dialect)
    count, after = 0, max(first - 1, 0)
    while after < last:
        moved, after = store.write(
            partial(_replay_page, store, subscription=found.id, pattern=pattern, after=after, last=last)
        )
        count += moved
    return count


def _first_at(transaction: Transaction, time: datetime) -> int:
    """The number of the first message that was put at this time or later; beyond all if there is none."""
    row = transaction.first(statements.MESSAGE_AT_TIME, (int(time.timestamp() * SECOND),))
    return int(row[0]) or transaction.sequence + 1


def _replay_page(
    store: Store, transaction: Transaction, subscription: int, pattern: Pattern | None, after: int, last: int
) -> tuple[int, int]:
    rows = list(transaction.rows(statements.MESSAGE_KEYS_AFTER, (after, last, PAGE)))
    moved = 0
    for sequence, key, priority, text in rows:
        known = addressed(transaction, sequence, store.settings.main)
        chosen = [each for each in known if each.subscription == subscription]
        if not chosen and (subscription == MAIN or (pattern is not None and inspect.matches(pattern, text))):
            # It did not go there before.
            chosen = [Target(subscription)]
            address(transaction, sequence, [*known, *chosen])
        if not chosen or subscription in inspect.holders(transaction, sequence, priority):
            continue
        for each in chosen:
            _bring_back(store, transaction, each, sequence, priority, key)
        moved += len(chosen)
    return moved, rows[-1][0] if rows else last


def check_start(start: object) -> None:
    """Raises ``InputError`` (``bad-setting``) unless it can be the number of a message."""
    check_number(start, "start")
