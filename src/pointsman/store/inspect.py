"""Looking into the queue, and taking by patterns that nobody subscribed to."""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from pointsman.errors import StoreError, SubjectError
from pointsman.patterns.pattern import Pattern
from pointsman.store import statements
from pointsman.store.lease import Taken
from pointsman.store.message import LONGEST_ID, DeadLetter, Sizes, StoredMessage, as_stored, check_number
from pointsman.store.pattern_pop import PRIORITIES, Interest
from pointsman.store.settle import cut
from pointsman.store.subscriptions import MAIN, Subscription, Subscriptions
from pointsman.store.transaction import SECOND, Connection, Transaction

if TYPE_CHECKING:
    from pointsman.store.store import Store

IDLE = 60.0
"""Seconds until one looks again when nothing is due."""


def take_by_pattern(
    store: Store, transaction: Transaction, pattern: Pattern, prepared: Interest | None, count: int, lease: int
) -> Taken:
    """Leases the first messages of the queue itself whose keys match."""
    store.settler.sweep(transaction)
    store.interests.make_index(transaction)
    interest = store.interests.known(pattern, transaction.keys)
    if interest is None:
        fits = prepared is not None and prepared.version == transaction.keys
        interest = prepared if prepared is not None and fits else Interest(pattern, transaction.keys)
    interest.catch_up(transaction)
    store.interests.keep(interest)
    taken: Taken = []
    while len(taken) < count and (position := interest.find(transaction)) is not None:
        found = store.taker.one(transaction, MAIN, *position, lease)
        taken += [] if found is None else [found]
    return taken


def extend(store: Store, transaction: Transaction, message: StoredMessage, length: int) -> StoredMessage | None:
    """Ends a lease and begins a new one."""
    receipt = (message.until, message.subscription, message.sequence, message.via, message.token)
    leased = store.settler.take(transaction, receipt)
    if leased is None:
        return None
    until = transaction.now + length
    row = (until, *leased[:3], message.token, *leased[3:])
    transaction.execute(statements.LEASED_ADD, row)
    return message._replace(until=until)


def peek(store: Store, pattern: Pattern | None, subscription: str | None, count: int) -> list[StoredMessage]:
    """The first messages that could be popped."""
    check_number(count, "count")
    with store.read() as connection:
        number = MAIN if subscription is None else _subscriptions(store, connection).find(subscription).id
        # Before the others: what is listed in between comes twice, and is noticed.
        unlisted = [] if number else list(connection.execute(statements.READY_UNLISTED))
        if pattern is not None:
            unlisted = [row for row in unlisted if matches(pattern, row[1])]
            interest = Interest(pattern, 0)
            interest.catch_up(connection)
            rows = _ready_of(connection, interest.keys, count)
        else:
            rows = list(connection.execute(statements.READY_FIRST, (number, count)))
    places = {(row[3], row[0], row[10]): row for row in (*unlisted, *rows)}
    found = [as_stored(places[place], (number, 0, 0, store.file)) for place in sorted(places)[:count]]
    return [each._replace(attempts=each.attempts - 1) for each in found]


def list_new(store: Store) -> None:
    """Has the deliveries of new messages listed, if there are any, for one who reads them in their order."""
    with store.read() as connection:
        unlisted = next(iter(connection.execute(statements.COUNT_UNLISTED)))[0]
    if unlisted:
        store.write(lambda transaction: transaction.list_new())


def _ready_of(connection: Connection, keys: set[int], count: int) -> list[tuple[Any, ...]]:
    places = (
        (priority, sequence)
        for priority in PRIORITIES
        for sequence, key in connection.execute(statements.READY_SCAN, (priority, 0))
        if key in keys
    )
    found = []
    for priority, sequence in islice(places, count):
        found += connection.execute(statements.READY_ONE, (MAIN, priority, sequence))
    return found


def sequence_of(store: Store, connection: Connection | Transaction, id: object) -> int | None:
    """The number of the message of this id."""
    if not isinstance(id, str) or len(id) > LONGEST_ID or cut(id) != id:
        # No message has such an id.
        return None
    row = next(iter(connection.execute(statements.MESSAGE_BY_ID, (id,))), None)
    if row is not None:
        return int(row[0])
    prefix, _, number = id.rpartition("-")
    if prefix != store.file or not number.isascii() or not number.isdigit() or len(number) > 18 or number[0] == "0":
        return None
    has_another = next(iter(connection.execute(statements.MESSAGE_HAS_ID, (int(number),))), None) is not None
    return None if has_another else int(number)


def read_message(store: Store, connection: Connection | Transaction, sequence: int) -> StoredMessage | None:
    """The message of this number."""
    row = next(iter(connection.execute(statements.MESSAGE_READ, (sequence,))), None)
    return None if row is None else as_stored(row, (MAIN, 0, 0, store.file))


def get(store: Store, id: str) -> StoredMessage | None:
    """The message of this id. Raises ``StoreError`` (``message-damaged``)."""
    with store.read() as connection:
        sequence = sequence_of(store, connection, id)
        found = None if sequence is None else read_message(store, connection, sequence)
    if found is not None and not found.is_whole:
        problem = f"message {found.sequence:,} is not what was put: its checksum is wrong"
        raise StoreError("message-damaged", problem, file=store.path)
    return found


def messages(store: Store, after: int, limit: int) -> list[StoredMessage]:
    """A page of all messages."""
    check_number(after, "after")
    check_number(limit, "limit")
    with store.read() as connection:
        rows = connection.execute(statements.MESSAGES_AFTER, (after, limit))
        return [as_stored(row, (MAIN, 0, 0, store.file)) for row in rows]


def status(store: Store, id: str) -> str | None:
    """Where the message of this id stands."""
    with store.read() as connection:
        sequence = sequence_of(store, connection, id)
        message = None if sequence is None else read_message(store, connection, sequence)
        if message is None or sequence is None:
            return None
        if sequence > Transaction(connection, store.settings.clock).listed:
            return "ready"
        places = (
            ("ready", statements.READY_OF, (message.priority, sequence)),
            ("delayed", statements.DELAYED_OF, (sequence,)),
            ("leased", statements.LEASED_OF, (sequence,)),
            ("dead", statements.DEAD_OF, (sequence,)),
        )
        for name, statement, parameters in places:
            if next(iter(connection.execute(statement, parameters)), None) is not None:
                return name
        row = next(iter(connection.execute(statements.FINISHED_FIND, (sequence,))), None)
        return "archived" if row is not None and row[1] else "done"


def holders(connection: Connection | Transaction, sequence: int, priority: int) -> set[int]:
    """The subscriptions that have a delivery of this message that is not done."""
    found = {row[0] for row in connection.execute(statements.READY_OF, (priority, sequence))}
    found |= {row[1] for row in connection.execute(statements.DELAYED_OF, (sequence,))}
    found |= {row[1] for row in connection.execute(statements.LEASED_OF, (sequence,))}
    return found | {row[0] for row in connection.execute(statements.DEAD_OF, (sequence,))}


def matches(pattern: Pattern, key: str) -> bool:
    """Whether a key matches; not if it is none in the dialect of the pattern."""
    try:
        return pattern.matches(key)
    except SubjectError:
        return False


def size(store: Store, subscription: str | None) -> Sizes:
    """How much is in which status."""
    with store.read() as connection:
        number = None if subscription is None else _subscriptions(store, connection).find(subscription).id
        counts = [
            next(iter(connection.execute(statement, (number,))))[0]
            for statement in (
                statements.COUNT_READY,
                statements.COUNT_DELAYED,
                statements.COUNT_LEASED,
                statements.COUNT_DEAD,
            )
        ]
        return Sizes(*counts, *next(iter(connection.execute(statements.COUNT_FINISHED))))


def sizes(store: Store) -> dict[str, tuple[int, int, int, int]]:
    """What is ready, delayed, leased and dead, of the queue itself (the empty name) and of each subscription."""
    with store.read() as connection:
        known = _subscriptions(store, connection).by_id
        counts = {number: [0, 0, 0, 0] for number in sorted(known)}
        for status, number, count in connection.execute(statements.COUNT_EACH):
            if number in counts:
                counts[number][status] += count
    return {known[number].name: (each[0], each[1], each[2], each[3]) for number, each in counts.items()}


def last_number(store: Store) -> int:
    """The number of the message that was put last; 0 if none ever was."""
    with store.read() as connection:
        return int(Transaction(connection, store.settings.clock).sequence)


def unfinished(store: Store) -> int:
    """Messages that are not done and not dead."""
    with store.read() as connection:
        return int(Transaction(connection, store.settings.clock).unfinished)


def until_due(store: Store) -> float:
    """Seconds until a delay or a lease ends; ``IDLE`` at most."""
    with store.read() as connection:
        now = Transaction(connection, store.settings.clock).now
        times = next(iter(connection.execute(statements.DUE_NEXT)))
    waits: list[float] = [max(0.0, (time - now) / SECOND) for time in times if time is not None]
    return min([IDLE, *waits])


def dead_letters(store: Store, subscription: str | None, limit: int, after: int) -> list[DeadLetter]:
    """A page of what was given up."""
    check_number(after, "after")
    check_number(limit, "limit")
    with store.read() as connection:
        number = None if subscription is None else _subscriptions(store, connection).find(subscription).id
        rows = list(connection.execute(statements.DEAD_PAGE, (after, number, limit)))
        if rows and len(rows) == limit:
            # The next page begins after this message, so all of its letters belong to this one.
            last = rows[-1][0]
            rest = connection.execute(statements.DEAD_PAGE, (last - 1, number, -1))
            rows = [row for row in rows if row[0] < last] + list(takewhile(lambda row: row[0] == last, rest))
        return [
            DeadLetter(
                _if_readable(store, connection, sequence), sequence, name or "", route, attempts, reason, error,
                time / SECOND,
            )
            for sequence, _, _, name, route, attempts, reason, error, time in rows
        ]  # fmt: skip


def _if_readable(store: Store, connection: Connection, sequence: int) -> StoredMessage | None:
    """The message of this number; None, too, if a text of it is none any more."""
    try:
        return read_message(store, connection, sequence)
    except UnicodeDecodeError:
        return None


def subscriptions(store: Store) -> list[Subscription]:
    """The durable subscriptions."""
    with store.read() as connection:
        known = _subscriptions(store, connection).by_id
    return [known[number] for number in sorted(known) if number != MAIN]


def _subscriptions(store: Store, connection: Connection) -> Subscriptions:
    """Those that are committed, read anew: a reader has a view of its own."""
    found = Subscriptions(store.dialect)
    found.refresh(Transaction(connection, store.settings.clock))
    return found
