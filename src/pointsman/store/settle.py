"""What becomes of a delivery: done, given back, put off, given up, brought back.

ready ──pop──▶ leased ──ack──▶ (done)
  ▲              │ nack, lease runs out
  │              ├──────▶ delayed ──its time──▶ ready
  └── requeue ── dead ◀── attempts used up, expired, damaged
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from pointsman.errors import InputError
from pointsman.store import statements
from pointsman.store.message import LONGEST, StoredMessage
from pointsman.store.subscriptions import Subscriptions
from pointsman.store.transaction import SECOND, Transaction

Random = Callable[[], float]
Receipt = tuple[int, int, int, int, int]
"""Until, subscription, sequence, via and token: what a lease is known by."""
LONGEST_ERROR = 2000
"""Characters of an error that are kept."""
SWEEP = 1000
"""Deliveries whose time has come that one transaction moves at most."""


class Backoff(NamedTuple):
    """How long a delivery waits before its next attempt, in seconds: twice as long each time, unless told otherwise.

    The wait is between a half of that and the whole, by chance, so that what failed together is not tried together.

    >>> Backoff(first=1.0).wait(3, lambda: 0.0), Backoff(first=1.0).wait(3, lambda: 1.0)
    (2.0, 4.0)
    """

    first: float = 1.0
    factor: float = 2.0
    longest: float = 3600.0

    def wait(self, attempts: int, random: Random) -> float:
        """The wait after this many attempts."""
        exponent = min(max(attempts - 1, 0), 1000)
        try:
            whole = min(self.first * self.factor**exponent, self.longest)
        except OverflowError:
            whole = self.longest
        return whole * (0.5 + random() / 2)


def check_backoff(backoff: object) -> Backoff:
    """The same. Raises ``InputError`` (``bad-setting``) for times outside of 0 to ten years, or a factor below 1."""
    if not isinstance(backoff, Backoff) or not all(isinstance(each, int | float) for each in backoff):
        raise InputError("bad-setting", f"backoff must be a Backoff of three numbers, got {backoff!r:.100}")
    first, factor, longest = backoff
    if not (0 <= first <= LONGEST and 0 <= longest <= LONGEST and 1 <= factor <= LONGEST):
        raise InputError("bad-setting", f"{backoff} needs times from 0 to {LONGEST:,} and a factor from 1")
    return backoff


class Leased(NamedTuple):
    """What of a leased delivery is needed to put it somewhere else."""

    subscription: int
    sequence: int
    via: int
    priority: int
    key: int
    attempts: int
    note: str | None
    error: str | None


class Settler:
    """Moves deliveries between the tables."""

    def __init__(self, subscriptions: Subscriptions, max_attempts: int, backoff: Backoff, random: Random) -> None:
        self._subscriptions = subscriptions
        self._max_attempts = max_attempts
        self._backoff = backoff
        self._random = random
        self.given_up: Callable[[Transaction, Leased], None] | None = None
        """Told of each delivery that becomes a dead letter, within the transaction; set by a broker."""

    def take(self, transaction: Transaction, receipt: Receipt) -> Leased | None:
        """Ends a lease; None if it is not the caller's any more."""
        until, subscription, sequence, via, token = receipt
        row = transaction.first(statements.LEASED_TAKE, (until, subscription, sequence, via, token))
        return None if row is None else Leased(subscription, sequence, via, *row)

    def done(self, transaction: Transaction, sequence: int) -> None:
        """A delivery of this message is done; the last one finishes the message."""
        row = transaction.first(statements.PENDING_CHANGE, (sequence, -1))
        if row is None:
            transaction.execute(statements.FINISHED_ADD, (sequence, transaction.now, 0))
            transaction.unfinished -= 1
        elif row[0] <= 0:
            transaction.unfinished -= 1
            self.finish_if_over(transaction, sequence)

    def done_many(self, transaction: Transaction, sequences: list[int]) -> None:
        """One delivery of each of these messages is done."""
        shared = dict(transaction.rows(statements.PENDING_LESS_MANY, (json.dumps(sequences),)))
        over = [sequence for sequence in sequences if sequence not in shared]
        transaction.executemany(statements.FINISHED_ADD, ((sequence, transaction.now, 0) for sequence in over))
        transaction.unfinished -= len(over)
        for sequence, left in shared.items():
            if left <= 0:
                transaction.unfinished -= 1
                self.finish_if_over(transaction, sequence)

    def finish_if_over(self, transaction: Transaction, sequence: int) -> None:
        """Marks a message of which nothing is open as finished, unless a dead letter of it is left."""
        if transaction.first(statements.DEAD_ANY, (sequence,)) is None:
            transaction.execute(statements.PENDING_DELETE, (sequence,))
            transaction.execute(statements.FINISHED_ADD, (sequence, transaction.now, 0))

    def give_back(self, transaction: Transaction, leased: Leased, delay: float | None, error: str | None) -> None:
        """A delivery did not succeed: it is tried again after a while, or given up after its last attempt."""
        kept = leased._replace(error=cut(error)) if error is not None else leased
        if leased.attempts >= self.max_attempts(leased.subscription):
            self.give_up(transaction, kept, f"it failed {leased.attempts} times")
            return
        wait = self._backoff.wait(leased.attempts, self._random) if delay is None else delay
        self.put_off(transaction, kept, int(wait * SECOND))

    def put_off(self, transaction: Transaction, leased: Leased, wait: int) -> None:
        """Makes a delivery ready again after a time in microseconds, at once if that is 0."""
        subscription, sequence, via, priority, key, attempts, note, error = leased
        transaction.wake = True
        if wait > 0:
            row = (transaction.now + wait, subscription, sequence, via, priority, key, attempts, note, error)
            transaction.execute(statements.DELAYED_ADD, row)
        else:
            self.make_ready(transaction, leased)

    def make_ready(self, transaction: Transaction, leased: Leased) -> None:
        """Makes a delivery ready that was not."""
        subscription, sequence, via, priority, key, attempts, note, error = leased
        transaction.execute(statements.READY_ADD, (subscription, priority, sequence, via, key, attempts, note, error))
        transaction.returned += 1
        transaction.wake = True

    def give_up(self, transaction: Transaction, leased: Leased, reason: str) -> None:
        """Makes a delivery a dead letter."""
        subscription, sequence, via, priority, key, attempts, note, error = leased
        row = (sequence, subscription, via, priority, key, attempts, note, error, cut(reason), transaction.now)
        transaction.execute(statements.DEAD_ADD, row)
        open_row = transaction.first(statements.PENDING_CHANGE, (sequence, -1))
        if open_row is None or open_row[0] <= 0:
            transaction.unfinished -= 1
        if self.given_up is not None:
            self.given_up(transaction, leased)

    def revive(self, transaction: Transaction, sequence: int, subscription: int, via: int) -> bool:
        """Makes a dead letter ready again, with all its attempts before it; False if there is none."""
        row = transaction.first(statements.DEAD_TAKE, (sequence, subscription, via))
        if row is None:
            return False
        priority, key, _, note, error = row
        self.reopen(transaction, sequence)
        self.make_ready(transaction, Leased(subscription, sequence, via, priority, key, 0, note, error))
        return True

    def reopen(self, transaction: Transaction, sequence: int) -> None:
        """One more delivery of this message is open."""
        row = transaction.first(statements.PENDING_CHANGE, (sequence, 1))
        if row is None or row[0] == 1:
            transaction.unfinished += 1

    def sweep(self, transaction: Transaction) -> bool:
        """Makes ready what waited for this moment, delays and leases that ran out; whether that was all of it."""
        due = transaction.first(statements.DUE_NEXT)
        if all(time is None or time > transaction.now for time in due):
            return True
        leases = list(transaction.rows(statements.LEASED_DUE, (transaction.now, SWEEP)))
        for until, subscription, sequence, via, priority, key, attempts, note, error in leases:
            transaction.execute(statements.LEASED_DELETE, (until, subscription, sequence, via))
            leased = Leased(subscription, sequence, via, priority, key, attempts, note, error)
            if attempts >= self.max_attempts(subscription):
                self.give_up(transaction, leased, f"its lease ran out, for the {attempts}. time")
            else:
                self.make_ready(transaction, leased)
        delayed = list(transaction.rows(statements.DELAYED_DUE, (transaction.now, SWEEP)))
        for due, subscription, sequence, via, *rest in delayed:
            transaction.execute(statements.DELAYED_DELETE, (due, subscription, sequence, via))
            self.make_ready(transaction, Leased(subscription, sequence, via, *rest))
        return len(leases) < SWEEP and len(delayed) < SWEEP

    def max_attempts(self, subscription: int) -> int:
        """How often a delivery of this subscription is tried."""
        found = self._subscriptions.by_id.get(subscription)
        return self._max_attempts if found is None or found.attempts is None else found.attempts


def cut(text: str) -> str:
    """A text that can be stored: not too long, and without what UTF-8 cannot write."""
    return text[:LONGEST_ERROR].encode(errors="backslashreplace").decode()


# -- acknowledging many deliveries at a time: those that were popped together are done together


Batch = tuple[int, int, int]
"""Until, subscription and token: what deliveries that were popped together share."""


def acknowledge(settler: Settler, transaction: Transaction, messages: Iterable[StoredMessage]) -> int:
    """Ends these deliveries, and gives how many of the leases were still held."""
    batches: dict[Batch, list[StoredMessage]] = {}
    for each in messages:
        batches.setdefault((each.until, each.subscription, each.token), []).append(each)
    return sum(_acknowledge(settler, transaction, batch, each) for batch, each in batches.items())


def _acknowledge(settler: Settler, transaction: Transaction, batch: Batch, messages: list[StoredMessage]) -> int:
    if len(messages) == 1 or any(each.via for each in messages):
        # A message that came by several routes is done once for each of them.
        count = 0
        for each in messages:
            receipt = (each.until, each.subscription, each.sequence, each.via, each.token)
            if settler.take(transaction, receipt) is not None:
                settler.done(transaction, each.sequence)
                count += 1
        return count
    sequences = json.dumps([each.sequence for each in messages])
    ended = [row[0] for row in transaction.rows(statements.LEASED_TAKE_MANY, (*batch, sequences))]
    settler.done_many(transaction, ended)
    return len(ended)
