"""The quick way for what is done most: one message put, taken or acknowledged, in as few statements as can be.

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
from pointsman.store.keys import KEPT, Keys
from pointsman.store.lease import Taker
from pointsman.store.message import Draft, StoredMessage, as_stored, check_size, is_plain, plain_checksum
from pointsman.store.put import PutSettings, message_row
from pointsman.store.subscriptions import Subscriptions
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
        """The number of commits that ``control`` has; each message that is not listed is one more."""
        self._sequence = self._listed = self._most = 0
        """The last message, the last one that is listed, and the last number that may be put the quick way."""
        self._time = self._latest = self._shift = 0
        self._version = self._keys_version = -1
        self._destined: dict[str, int] = {}
        """The numbers of keys whose messages go to the queue itself and nobody else, as of these versions."""

    @property
    def _commits(self) -> int:
        return self._written + self._sequence - self._listed

    def note(self, transaction: Transaction) -> None:
        """Takes up what a transaction has written that went the long way."""
        self._is_alone = transaction.commits == self._commits + 1
        self._know(transaction)

    def _know(self, transaction: Transaction) -> None:
        """Takes up what a transaction says of the file."""
        self._written = transaction.commits - (transaction.sequence - transaction.listed)
        self._sequence = transaction.sequence
        self._listed = transaction.listed
        self._time, self._latest = transaction.now, transaction.now + MINUTE
        self._shift = transaction.shift
        self._know_versions(transaction.subscriptions, transaction.keys)
        self._limit(transaction.unfinished)

    def _know_versions(self, subscriptions: int, keys: int) -> None:
        if (subscriptions, keys) != (self._version, self._keys_version):
            self._version, self._keys_version = subscriptions, keys
            self._destined = {}

    def _limit(self, unfinished: int) -> None:
        """Works out how many may be put; each of them is one more that is unfinished, and one that is not listed."""
        self._most = min(self._listed + MOST_UNLISTED, self._sequence + self._room - unfinished)

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
        return self._writer.run_alone(self._done, message)

    def _put(self, connection: apsw.Connection, draft: Draft) -> int | None:
        if not self._is_alone:
            return self._put_among_others(connection, draft)
        parameters = self._parameters(draft)
        if parameters is None:
            return None
        # Until it is known that it was committed, it is not known what the file says.
        self._is_alone = False
        try:
            connection.execute(statements.QUICK_PUT, parameters)
        except apsw.ConstraintError:
            return self._put_among_others(connection, draft)
        return self._has_put(parameters, is_alone=True)

    def _put_among_others(self, connection: apsw.Connection, draft: Draft) -> int | None:
        """As others write too, it is first read what they wrote."""
        connection.execute(statements.BEGIN)
        transaction = Transaction(connection, self._clock)
        is_alone = transaction.commits == self._commits
        self._know(transaction)
        parameters = None if transaction.is_shifted else self._parameters(draft)
        if parameters is not None:
            try:
                connection.execute(statements.QUICK_PUT, parameters)
            except apsw.ConstraintError:
                parameters = None
        connection.execute(statements.COMMIT)
        return None if parameters is None else self._has_put(parameters, is_alone=is_alone)

    def _parameters(self, draft: Draft) -> tuple[Any, ...] | None:
        """What ``QUICK_PUT`` is to be given; None if something is in the way."""
        data, key, priority, _, expires, _, metadata = draft
        if type(key) is not str:
            return None
        number = self._destined.get(key) or self._destine(key)
        sequence = self._sequence + 1
        now = int(self._clock() * SECOND) + self._shift
        if number is None or sequence > self._most or not self._time <= now <= self._latest:
            return None
        if (
            type(data) is not bytes
            or type(priority) is not int
            or priority != 5
            or expires is not None
            or metadata is not None
        ):
            row = message_row(draft, sequence, now, key, self._settings.max_bytes)
            return (self._written, sequence, number, priority, now, *row)
        # What most messages are, without a call for each of their parts.
        check_size(data, self._settings.max_bytes)
        value = plain_checksum(sequence, now, 5, key, data)
        return (self._written, sequence, number, 5, now, value, None, None, None, None, data)

    def _has_put(self, parameters: tuple[Any, ...], *, is_alone: bool) -> int:
        """A message is on disk; its number."""
        sequence: int = parameters[1]
        self._sequence, self._time = sequence, parameters[4]
        self._is_alone = is_alone
        self._told(self._written + sequence - self._listed, sequence, True)
        return sequence

    def _destine(self, key: str) -> int | None:
        """The number of a key that is known, if its messages go to the queue itself and nobody else."""
        subscriptions = self._subscriptions
        if self._settings.main == "never" or subscriptions.version != self._version or subscriptions.matching(key):
            return None
        number = self._keys.find(key, self._keys_version)
        if number is not None:
            if len(self._destined) >= KEPT:
                self._destined.clear()
            self._destined[key] = number
        return number

    def _take(self, connection: apsw.Connection, asked: tuple[int, int]) -> StoredMessage | None:
        subscription, lease = asked
        connection.execute(statements.BEGIN)
        found = None
        if self._listed == self._sequence:
            found = self._take_listed(connection, subscription, lease)
        if found is None and self._list(connection):
            found = self._take_listed(connection, subscription, lease)
        connection.execute(statements.COMMIT)
        return found

    def _take_listed(self, connection: apsw.Connection, subscription: int, lease: int) -> StoredMessage | None:
        """Leases the first delivery, if its message is whole, and nothing is to be done before."""
        now = int(self._clock() * SECOND) + self._shift
        known = (self._shift, self._subscriptions.version, now, subscription)
        try:
            row = connection.execute(statements.QUICK_FIRST, known).fetchone()
        except UnicodeDecodeError:
            return None
        if row is None:
            return None
        found = as_stored(row[:-1], self._taker.tail(subscription, now + lease))
        if not is_plain(found) and self._taker.problem(found, now) is not None:
            return None
        place = (subscription, found.priority, found.sequence, found.via)
        connection.execute(statements.READY_DELETE, place)
        if not connection.changes():
            # It is not where it is listed: the long way tells that the file is damaged.
            return None
        until = (found.until, subscription, found.sequence, found.via, found.token, found.priority)
        connection.execute(statements.LEASED_ADD, (*until, row[-1], found.attempts, found.note, found.error))
        return found

    def _list(self, connection: apsw.Connection) -> bool:
        """Lists the deliveries of new messages, within a transaction; whether there were any."""
        connection.execute(statements.READY_ADD_NEW)
        if not connection.changes():
            return False
        # If the transaction is undone, control is not what is known of it here, and the next step finds that out.
        commits, unfinished = next(iter(connection.execute(statements.QUICK_LISTED)))
        self._is_alone = self._is_alone and commits == self._commits
        self._written, self._listed = commits, self._sequence
        self._limit(unfinished)
        return True

    def _done(self, connection: apsw.Connection, message: StoredMessage) -> bool | None:
        execute = connection.execute
        execute(statements.BEGIN)
        execute(
            statements.LEASED_END, (message.until, message.subscription, message.sequence, message.via, message.token)
        )
        if not connection.changes():
            execute(statements.COMMIT)
            return None
        now = int(self._clock() * SECOND) + self._shift
        row = execute(statements.QUICK_DONE, (now, self._shift, message.sequence)).fetchone()
        if row is None:
            execute(statements.ROLLBACK)
            return None
        execute(statements.FINISHED_ADD, (message.sequence, now, 0))
        commits_before, self._is_alone = self._commits, False
        execute(statements.COMMIT)
        self._written, self._listed, unfinished, version, keys, last = row
        self._sequence = max(self._listed, last or 0)
        self._time, self._latest = now, now + MINUTE
        self._know_versions(version, keys)
        self._limit(unfinished + self._sequence - self._listed)
        self._is_alone = self._commits == commits_before + 1
        self._told(self._commits, self._sequence, False)
        return True
