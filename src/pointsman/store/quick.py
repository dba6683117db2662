"""The quick way for what is done most: one message put, taken or acknowledged, in a statement that is a transaction.

It is taken when nothing is in the way: the key is known, the message goes to the queue itself, nothing else is due.
Where something is, a step gives None and has changed nothing; then the long way is taken, which finds out all of that
by itself. Both come to the same.

``control`` has the number of commits. As long as that is the one this process has last seen there, and no message came
since that it does not know of, everything else in it is as this process knows it too. A put does not even write it:
``CONTROL_READ`` adds the messages that are younger than it. Nor does a put list the delivery: whoever needs the
deliveries in their order lists those of all messages that are younger than ``control``, at once, and writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import apsw

from pointsman.store import statements
from pointsman.store.draft import Draft
from pointsman.store.keys import Keys
from pointsman.store.putting import PutSettings, message_row
from pointsman.store.stored import StoredMessage
from pointsman.store.subscriptions import Subscriptions
from pointsman.store.taking import Taker
from pointsman.store.transaction import SECOND, Transaction
from pointsman.store.writer import Writer

MINUTE = 60 * SECOND
"""How long messages may be put before ``control`` is written again; the statements know it too."""
MOST_UNLISTED = 1000
"""How many messages may be put before somebody lists their deliveries, so that this takes nobody long."""
Told = Callable[[int, int, bool], None]
"""Is told of a commit: its number, that of the last message, and whether somebody may be waiting for it."""


class Quick:
    """The quick way into one file; its steps are taken by whoever leads the writer, and so one at a time."""

    def __init__(
        self,
        writer: Writer,
        clock: Callable[[], float],
        keys: Keys,
        subscriptions: Subscriptions,
        taker: Taker,
        settings: PutSettings,
        told: Told,
    ) -> None:
        self._writer = writer
        self._clock = clock
        self._keys = keys
        self._subscriptions = subscriptions
        self._taker = taker
        self._settings = settings
        self._told = told
        self._room = sys.maxsize if settings.maxsize is None else settings.maxsize
        self._is_alone = False
        self._written = -1
        self._commits = -1
        self._sequence = self._time = self._latest = self._shift = self._unfinished = 0
        self._version = self._keys_version = -1
        self._listed = 0

    def note(self, transaction: Transaction) -> None:
        """Takes up what a transaction has written that went the long way."""
        self._is_alone = transaction.commits == self._commits + 1
        self._know(transaction)
        self._latest = transaction.now + MINUTE

    def _know(self, transaction: Transaction) -> None:
        """Takes up what a transaction says of the file."""
        self._commits = transaction.commits
        self._written = transaction.commits - (transaction.sequence - transaction.listed)
        self._sequence = transaction.sequence
        self._listed = transaction.listed
        self._time = transaction.now
        self._shift = transaction.shift
        self._unfinished = transaction.unfinished
        self._version = transaction.subscriptions
        self._keys_version = transaction.keys

    def put(self, draft: Draft) -> int | None:
        """Puts a message, and gives its number."""
        if self._version < 0 or draft.id is not None or draft.delay is not None:
            return None
        return self._writer.run_alone(self._put, draft)

    def take(self, subscription: int, lease: int) -> StoredMessage | None:
        """Leases the first delivery of a subscription."""
        return self._writer.run_alone(self._take, (subscription, lease))

    def done(self, message: StoredMessage) -> bool | None:
        """Acknowledges a message."""
        return self._writer.run_alone(self._done, message) if self._is_alone else None

    def _put(self, connection: apsw.Connection, draft: Draft) -> int | None:
        sequence = self._add(connection, draft) if self._is_alone else None
        if sequence is None and not self._is_alone:
            sequence = self._add_among_others(connection, draft)
        if sequence is not None:
            self._told(self._commits, sequence, True)
        return sequence

    def _add_among_others(self, connection: apsw.Connection, draft: Draft) -> int | None:
        """As others write too, it is first read what they wrote."""
        connection.execute(statements.BEGIN)
        transaction = Transaction(connection, self._clock)
        is_alone = transaction.commits == self._commits
        self._know(transaction)
        self._latest = transaction.now + MINUTE
        sequence = None if transaction.is_shifted else self._add(connection, draft)
        self._is_alone = False
        connection.execute(statements.COMMIT)
        self._is_alone = is_alone
        return sequence

    def _add(self, connection: apsw.Connection, draft: Draft) -> int | None:
        key = draft.routing_key
        number = self._keys.find(key, self._keys_version)
        now = int(self._clock() * SECOND) + self._shift
        if number is None or self._unfinished >= self._room or not self._time <= now <= self._latest:
            return None
        if self._sequence - self._listed >= MOST_UNLISTED or not self._goes_to_main(str(key)):
            return None
        sequence = self._sequence + 1
        row = message_row(draft, sequence, now, str(key), self._settings.max_bytes)
        parameters = (self._written, sequence, number, draft.priority, now, *row)
        if not self._commit(connection, statements.QUICK_PUT, parameters):
            return None
        self._sequence, self._time = sequence, now
        self._unfinished += 1
        return sequence

    def _take(self, connection: apsw.Connection, asked: tuple[int, int]) -> StoredMessage | None:
        subscription, lease = asked
        now = int(self._clock() * SECOND) + self._shift
        connection.execute(statements.BEGIN)
        found = None
        if self._listed == self._sequence:
            found = self._take_listed(connection, subscription, now, lease)
        if found is None and self._list(connection):
            found = self._take_listed(connection, subscription, now, lease)
        connection.execute(statements.COMMIT)
        return found

    def _take_listed(
        self, connection: apsw.Connection, subscription: int, now: int, lease: int
    ) -> StoredMessage | None:
        """Leases the first delivery, if nothing is to be done before; all must be listed, too."""
        found = self._taker.look(connection, subscription, now, lease)
        if found is not None:
            known = (self._shift, self._subscriptions.version, now, found.until, found.token)
            place = (subscription, found.priority, found.sequence, found.via)
            try:
                connection.execute(statements.QUICK_TAKE, known + place)
            except apsw.ConstraintError:
                found = None
        return found

    def _list(self, connection: apsw.Connection) -> bool:
        """Lists the deliveries of new messages, within a transaction; whether there were any."""
        connection.execute(statements.READY_ADD_NEW)
        if not connection.changes():
            return False
        # If the transaction is undone, control is not what is known of it here, and the next step finds that out.
        commits = next(iter(connection.execute(statements.QUICK_LISTED)))[0]
        self._is_alone = self._is_alone and commits == self._commits
        self._written, self._listed = commits, self._sequence
        return True

    def _done(self, connection: apsw.Connection, message: StoredMessage) -> bool | None:
        now = int(self._clock() * SECOND) + self._shift
        if now < self._time:
            return None
        known = (self._written, self._sequence, now)
        receipt = (message.until, message.subscription, message.sequence, message.via, message.token)
        if not self._commit(connection, statements.QUICK_DONE, known + receipt):
            return None
        self._written += 1
        self._unfinished -= 1
        self._time, self._latest = now, now + MINUTE
        self._told(self._commits, self._sequence, False)
        return True

    def _commit(self, connection: apsw.Connection, statement: str, parameters: tuple[Any, ...]) -> bool:
        """Runs a statement that is a transaction by itself; False if it found something in the way."""
        # Until it is known that it was committed, it is not known what the file says.
        self._is_alone = False
        try:
            connection.execute(statement, parameters)
        except apsw.ConstraintError:
            return False
        self._commits += 1
        self._is_alone = True
        return True

    def _goes_to_main(self, key: str) -> bool:
        """Whether the queue itself gets a message, and nobody else."""
        if self._settings.main == "never" or self._subscriptions.version != self._version:
            return False
        return not self._subscriptions.patterns or not self._subscriptions.matching(key)
