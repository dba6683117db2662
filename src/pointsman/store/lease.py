"""Popping: the first deliveries of a subscription are leased to whoever asks."""

from __future__ import annotations

import secrets
from itertools import count
from typing import Any

from pointsman.errors import StoreError
from pointsman.store import statements
from pointsman.store.message import StoredMessage, Tail, all_stored, are_plain, as_stored
from pointsman.store.settle import Leased, Settler
from pointsman.store.transaction import Transaction

Row = tuple[Any, ...]
Taken = list[tuple[list[Row], Tail]]
"""Rows that were leased, in pieces that have a tail in common: messages are made of them when nobody waits for it."""
DAMAGED = "it is not what was put: its checksum is wrong"
MISSING = "the message of this delivery cannot be found"
EXPIRED = "it expired before anybody took it"


class Taker:
    """Leases deliveries; what cannot be delivered becomes a dead letter on the way."""

    def __init__(self, file: str, settler: Settler) -> None:
        self._file = file
        # Other numbers in each process; to ask the system for one each time would take as long as a statement.
        self._tokens = count(secrets.randbits(48))
        self._settler = settler

    def first(self, transaction: Transaction, subscription: int, count: int, lease: int) -> Taken:
        """Up to ``count`` deliveries in their order; fewer only if there are no more."""
        self._settler.sweep(transaction)
        taken: Taken = []
        while count > 0:
            tail = self.tail(subscription, transaction.now + lease)
            rows = self._look(transaction, subscription, count)
            if not rows:
                break
            if len(rows) > 1 and self._are_deliverable(transaction, rows, tail):
                self._lease_first(transaction, rows, tail)
            else:
                found = zip(rows, all_stored(rows, tail), strict=True)
                rows = [row for row, each in found if self.lease(transaction, each)]
            taken.append((rows, tail))
            count -= len(rows)
        return taken

    def tail(self, subscription: int, until: int) -> Tail:
        """What a delivery that is leased until then has besides its row."""
        return (subscription, until, next(self._tokens), self._file)

    def one(
        self, transaction: Transaction, subscription: int, priority: int, sequence: int, lease: int
    ) -> tuple[list[Row], Tail] | None:
        """A delivery of which is known where it stands; None if it is not there, or cannot be delivered."""
        try:
            row = transaction.first(statements.READY_ONE, (subscription, priority, sequence))
        except UnicodeDecodeError:
            found_at = transaction.rows(statements.READY_OF, (priority, sequence))
            self._give_up_unreadable(transaction, [(*each[:2], sequence, each[2]) for each in found_at])
            return None
        if row is None:
            return None
        tail = self.tail(subscription, transaction.now + lease)
        return ([row], tail) if self.lease(transaction, as_stored(row, tail)) else None

    def lease(self, transaction: Transaction, found: StoredMessage) -> bool:
        """Leases this one, or makes it a dead letter and gives False."""
        place = (found.subscription, found.priority, found.sequence, found.via)
        row = transaction.first(statements.READY_TAKE, place)
        if row is None:
            raise StoreError("store-damaged", f"the delivery of message {found.sequence} is not where it is listed")
        key, attempts, note, error = row
        why = self.problem(found, transaction.now)
        if why is not None:
            dead = Leased(found.subscription, found.sequence, found.via, found.priority, key, attempts, note, error)
            self._settler.give_up(transaction, dead, why)
            return False
        lease = (found.until, found.subscription, found.sequence, found.via, found.token, found.priority)
        transaction.execute(statements.LEASED_ADD, (*lease, key, attempts + 1, note, error))
        transaction.leasing += 2
        return True

    def _are_deliverable(self, transaction: Transaction, rows: list[Row], tail: Tail) -> bool:
        """Whether there is nothing the matter with any of them."""
        try:
            if are_plain(rows):
                return True
        except (TypeError, AttributeError):
            pass
        return all(self.problem(each, transaction.now) is None for each in all_stored(rows, tail))

    @staticmethod
    def problem(found: StoredMessage, now: int) -> str | None:
        """Why it cannot be delivered."""
        if not found.is_whole:
            return MISSING if found.is_missing else DAMAGED
        return EXPIRED if found.expires is not None and found.expires <= now else None

    def _look(self, transaction: Transaction, subscription: int, count: int) -> list[Row]:
        try:
            return list(transaction.execute(statements.READY_FIRST, (subscription, count)))
        except UnicodeDecodeError:
            places = transaction.rows(statements.READY_PLACES, (subscription, count))
            self._give_up_unreadable(transaction, list(places))
            return self._look(transaction, subscription, count)

    def _give_up_unreadable(self, transaction: Transaction, places: list[tuple[int, int, int, int]]) -> None:
        """Makes dead letters of those whose texts are not even texts any more."""
        for place in places:
            try:
                list(transaction.rows(statements.READY_ONE, place[:3]))
            except UnicodeDecodeError:
                transaction.execute(statements.READY_FORGET_TEXTS, place)
                key, attempts, note, error = transaction.first(statements.READY_TAKE, place)
                number, priority, sequence, via = place
                dead = Leased(number, sequence, via, priority, key, attempts, note, error)
                self._settler.give_up(transaction, dead, DAMAGED)

    def _lease_first(self, transaction: Transaction, rows: list[Row], tail: Tail) -> None:
        subscription, until, token, _ = tail
        last = as_stored(rows[-1], tail)
        transaction.execute(statements.READY_LEASE_FIRST, (subscription, until, token, len(rows)))
        transaction.execute(statements.READY_DELETE_FIRST, (subscription, last.priority, last.sequence, last.via))
        transaction.leasing += 2 * len(rows)


def messages_of(taken: Taken) -> list[StoredMessage]:
    """The messages that were taken."""
    return [each for rows, tail in taken for each in all_stored(rows, tail)]
