"""Putting: a message is stored once, and a delivery is written for each who is to get it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

from pointsman.errors import StoreError
from pointsman.store import message as drafts
from pointsman.store import statements
from pointsman.store.keys import Keys
from pointsman.store.message import Draft, DuplicateId, PutId, checksum, stamp
from pointsman.store.subscriptions import MAIN, Subscriptions
from pointsman.store.transaction import Transaction

CHUNK = 1000
"""Rows that are held in memory at a time."""
MOST_ADDRESSED = 1000
"""To how many a message may go for that to be remembered."""


class Target(NamedTuple):
    """Whom a message goes to, when that is decided elsewhere: the broker's deliveries."""

    subscription: int
    via: int = 0
    note: str | None = None


ITSELF = [Target(MAIN)]
"""The queue itself, and nobody else."""


class PutSettings(NamedTuple):
    """What the queue was told about putting."""

    main: str
    max_bytes: int
    maxsize: int | None
    dedupe: int
    """In microseconds."""


class Putter:
    """Writes messages and their deliveries; one for each transaction."""

    def __init__(
        self, transaction: Transaction, file: str, keys: Keys, subscriptions: Subscriptions, settings: PutSettings
    ) -> None:
        self._transaction = transaction
        self._file = file
        self._keys = keys
        self._subscriptions = subscriptions
        self._settings = settings
        self._messages: list[tuple[Any, ...]] = []
        self._ready: list[tuple[Any, ...]] = []
        subscriptions.refresh(transaction)

    def put_each(self, items: Iterable[Draft | Sequence[Any]]) -> list[PutId]:
        """Puts messages, and gives their ids in their order. Raises as ``Queue.put_many``."""
        ids: list[PutId] = []
        iterator = iter(items)
        while chunk := list(islice(iterator, CHUNK)):
            # A way of its own for what most messages are: data and a key, to be taken at once.
            if self._settings.main == "always" and not self._subscriptions.patterns:
                self._put_chunk(chunk, ids)
            else:
                ids += [self.put(_draft(item)) for item in chunk]
            self.flush()
        self._check_size()
        return ids

    def _put_chunk(self, chunk: list[Draft | Sequence[Any]], ids: list[PutId]) -> None:
        transaction, now, file, limit = self._transaction, self._transaction.now, self._file, self._settings.max_bytes
        numbers = self._keys.learn(transaction, (item[1] for item in chunk if len(item) == 2))
        common = stamp(0, now, 5, None, is_text=False)
        heads: dict[Any, int] = {}
        messages: list[tuple[int, int, int, int, bytes]] = []
        sequence = transaction.sequence
        for item in chunk:
            data, key = item[0], item[1] if len(item) == 2 else None
            number = numbers.get(key) if type(key) is str else None
            if number is None or type(data) is not bytes or len(data) > limit:
                transaction.sequence = sequence
                ids.append(self.put(_draft(item)))
                sequence = transaction.sequence
                continue
            sequence += 1
            head = heads.get(key)
            if head is None:
                head = heads[key] = crc32(str(key).encode()) ^ common
            value = crc32(data, head ^ (sequence ^ sequence >> 32) & 0xFFFFFFFF)
            messages.append((sequence, number, now, value, data))
            ids.append(PutId(f"{file}-{sequence}"))
        transaction.sequence = sequence
        transaction.unfinished += len(messages)
        transaction.executemany(statements.MESSAGE_ADD_PLAIN, messages)
        transaction.executemany(statements.READY_ADD_MAIN, [message[:2] for message in messages])
        transaction.wake = transaction.wake or bool(messages)

    def put(self, draft: Draft, targets: Collection[Target] | None = None, envelope: str | None = None) -> PutId:
        """Puts one message for these, or else for whoever subscribed, and gives its id. It needs a ``flush``."""
        transaction = self._transaction
        delay = 0 if draft.delay is None else drafts.microseconds(draft.delay, "delay")
        key, number = self._keys.number(transaction, draft.routing_key)
        if draft.id is not None:
            drafts.check_id(draft.id)
            if self.is_known(draft.id):
                return DuplicateId(draft.id)
        sequence = transaction.sequence + 1
        row = message_row(draft, sequence, transaction.now, key, self._settings.max_bytes, envelope)
        transaction.sequence = sequence
        self._messages.append((sequence, number, draft.priority, transaction.now, *row))
        chosen = self._targets(key) if targets is None else targets
        self._deliver(sequence, number, draft.priority, transaction.now + delay if delay else 0, chosen)
        if draft.id is not None or len(self._messages) >= CHUNK or len(self._ready) >= CHUNK:
            # One with an id must be found by the next of the same.
            self.flush()
        return PutId(draft.id or f"{self._file}-{sequence}")

    def flush(self) -> None:
        """Writes what is held in memory."""
        if self._messages:
            self._transaction.executemany(statements.MESSAGE_ADD, self._messages)
            self._messages.clear()
        if self._ready:
            self._transaction.executemany(statements.READY_ADD, self._ready)
            self._ready.clear()
            self._transaction.wake = True

    def finish(self) -> None:
        """Writes the rest. Raises ``StoreError`` (``queue-full``)."""
        self.flush()
        self._check_size()

    def _targets(self, key: str) -> list[Target]:
        matching = [Target(each) for each in self._subscriptions.matching(key)]
        main = self._settings.main
        if main == "always" or (main == "unclaimed" and not matching):
            matching.append(Target(MAIN))
        return matching

    def _deliver(self, sequence: int, key: int, priority: int, due: int, targets: Collection[Target]) -> None:
        transaction = self._transaction
        if 1 < len(targets) <= MOST_ADDRESSED:
            # Once, as they may be looked up one by one.
            targets = list(targets)
        address(transaction, sequence, targets)
        if not targets:
            transaction.execute(statements.FINISHED_ADD, (sequence, transaction.now, 0))
            return
        transaction.unfinished += 1
        if len(targets) > 1:
            transaction.execute(statements.PENDING_ADD, (sequence, len(targets)))
        if due:
            transaction.executemany(
                statements.DELAYED_ADD,
                ((due, each.subscription, sequence, each.via, priority, key, 0, each.note, None) for each in targets),
            )
            transaction.wake = True
            return
        for each in targets:
            self._ready.append((each.subscription, priority, sequence, each.via, key, 0, each.note, None))
            if len(self._ready) >= CHUNK:
                self.flush()

    def is_known(self, id: str) -> bool:
        """Whether a message of this id was put within the time in which that is noticed."""
        if not self._settings.dedupe:
            return False
        since = self._transaction.now - self._settings.dedupe
        row = self._transaction.first(statements.MESSAGE_BY_ID, (id,))
        if row is not None and row[1] > since:
            return True
        # The last one of this id may be pruned already, and an earlier one not.
        return self._transaction.first(statements.SEEN_FIND, (id, since)) is not None

    def _check_size(self) -> None:
        maxsize = self._settings.maxsize
        if maxsize is not None and self._transaction.unfinished > maxsize:
            problem = f"it would hold {self._transaction.unfinished:,} unfinished messages, and maxsize is {maxsize:,}"
            raise StoreError("queue-full", problem)


def address(transaction: Transaction, sequence: int, targets: Collection[Target]) -> None:
    """Remembers to whom a message goes, unless that is the queue itself; of very many, none."""
    if targets != ITSELF:
        known = targets if len(targets) <= MOST_ADDRESSED else ()
        transaction.execute(statements.ADDRESSED_SET, (sequence, json.dumps(list(known))))


def addressed(transaction: Transaction, sequence: int, main: str) -> list[Target]:
    """To whom a message went; nobody if they were too many. ``main`` is the queue's setting."""
    row = transaction.first(statements.ADDRESSED_FIND, (sequence,))
    if row is not None:
        return [Target(*each) for each in json.loads(row[0])]
    # A queue that keeps nothing for itself has it from a version that did not remember.
    return [] if main == "never" else ITSELF


def message_row(
    draft: Draft, sequence: int, now: int, key: str, max_bytes: int, envelope: str | None = None
) -> tuple[int, int | None, str | None, str | None, str | None, bytes | str]:
    """Checksum, expiry, id, metadata, envelope and body of a message, as they are stored.

    Raises ``MessageError`` and ``StoreError`` (``too-large``).
    """
    data = drafts.data_bytes(draft.data, max_bytes)
    drafts.check_priority(draft.priority)
    metadata = None if draft.metadata is None else drafts.metadata_text(draft.metadata)
    expires = None if draft.expires is None else now + drafts.microseconds(draft.expires, "expires")
    numbers = stamp(sequence, now, draft.priority, expires, is_text=isinstance(draft.data, str))
    value = checksum(numbers, key, data, draft.id, metadata, envelope)
    return value, expires, draft.id, metadata, envelope, draft.data


def _draft(item: Draft | Sequence[Any]) -> Draft:
    return item if isinstance(item, Draft) else Draft(*item)
