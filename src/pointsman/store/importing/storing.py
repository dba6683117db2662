"""Storing messages of another queue, each in the state that it was in there."""

from __future__ import annotations

import json

from pointsman.store import statements
from pointsman.store.importing.kinds import State
from pointsman.store.importing.terms import Change, Taken, shown
from pointsman.store.putting import Target, address
from pointsman.store.settling import cut
from pointsman.store.store import Store
from pointsman.store.stored import checksum, stamp
from pointsman.store.subscriptions import MAIN
from pointsman.store.transaction import Transaction


class Storing:
    """Stores messages in one transaction; they count neither for ``maxsize`` nor for ``max_bytes``.

    A message that is ready goes to whom it would go if it was put now, and to the queue itself if that is nobody. A
    dead letter is one of the queue itself.
    """

    def __init__(self, store: Store, transaction: Transaction) -> None:
        self._transaction = transaction
        self._keys = store.keys
        self._subscriptions = store.subscriptions
        self._main = store.settings.main
        self._subscriptions.refresh(transaction)

    def store(self, taken: Taken) -> tuple[tuple[Change, str], ...]:
        """Stores one message, and gives all that was changed of it: an id that another one has, too."""
        transaction = self._transaction
        changes, given, about = taken.changes, taken.id, taken.metadata
        if given is not None and transaction.first(statements.MESSAGE_BY_ID, (given,)) is not None:
            changes = (*changes, (Change.REPEATED, shown(given)))
            about = {**about, "id": given}
            given = None
        metadata = json.dumps(about, ensure_ascii=False, separators=(",", ":")) if about else None
        data = taken.data.encode() if isinstance(taken.data, str) else taken.data
        key, number = self._keys.number(transaction, taken.key)
        transaction.sequence = sequence = transaction.sequence + 1
        put = transaction.now if taken.put is None else taken.put
        numbers = stamp(sequence, put, taken.priority, None, is_text=isinstance(taken.data, str))
        value = checksum(numbers, key, data, given, metadata, None)
        row = (sequence, number, taken.priority, put, value, None, given, metadata, None, taken.data)
        transaction.execute(statements.MESSAGE_ADD, row)
        self._place(taken, sequence, number)
        return changes

    def _place(self, taken: Taken, sequence: int, key: int) -> None:
        transaction = self._transaction
        if taken.state is State.READY:
            self._deliver(taken, sequence, key)
        elif taken.state is State.DEAD:
            reason = cut(taken.reason or "")
            row = (sequence, MAIN, 0, taken.priority, key, 0, None, None, reason, transaction.now)
            transaction.execute(statements.DEAD_ADD, row)
        else:
            finished = transaction.now if taken.finished is None else min(taken.finished, transaction.now)
            transaction.execute(statements.FINISHED_ADD, (sequence, finished, int(taken.state is State.ARCHIVED)))

    def _deliver(self, taken: Taken, sequence: int, key: int) -> None:
        transaction = self._transaction
        targets = [Target(each) for each in self._subscriptions.matching(taken.key)]
        if self._main == "always" or not targets:
            targets.append(Target(MAIN))
        address(transaction, sequence, targets)
        for target in targets:
            row = (target.subscription, taken.priority, sequence, 0, key, 0, None, None)
            transaction.execute(statements.READY_ADD, row)
        if len(targets) > 1:
            transaction.execute(statements.PENDING_ADD, (sequence, len(targets)))
        transaction.unfinished += 1
        transaction.wake = True
