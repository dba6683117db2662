"""What becomes of one message of another queue, and how it is stored in the state that it was in there."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import NamedTuple

from pointsman.errors import SubjectError
from pointsman.patterns import Dialect, Subject
from pointsman.store import statements
from pointsman.store.message import LONGEST_ID, checksum, stamp
from pointsman.store.migrate.source import BECOMES, Kind, SourceRow, State, Status
from pointsman.store.put import Target, address
from pointsman.store.settle import cut
from pointsman.store.store import Store
from pointsman.store.subscriptions import MAIN
from pointsman.store.transaction import Transaction

DEFAULT_PRIORITY = 5
HIGHEST, LOWEST = 1, 10
LONGEST_SHOWN = 100
LONGEST_KEPT = 20_000
"""Characters of a topic, or of an id, that are kept as metadata."""
REMEMBERED = 10_000
"""Topics of which it is remembered whether the dialect refuses them."""


class Change(StrEnum):
    """What is not taken over as it was; the values are how a report says it."""

    LOCKED = "was locked by a consumer and is ready again"
    STATUS = "has a status without a meaning and is a dead letter"
    TOPIC = "has a topic that the dialect refuses, kept as the metadata 'topic'"
    PRIORITY = "has a priority outside of 1 to 10 and gets the nearest"
    TIME = "has no time of putting and gets the time of the import"
    ID = "has an id that cannot be one, kept as the metadata 'id', and gets another"
    REPEATED = "has the id of another message, kept as the metadata 'id', and gets another"


class Taken(NamedTuple):
    """A message as it is to be stored."""

    id: str | None
    key: str
    data: bytes | str
    priority: int
    put: int | None
    """In microseconds; None for the time of the import."""
    finished: int | None
    """When it was done, if it was."""
    state: State
    reason: str | None
    """Why it is a dead letter, if it is one."""
    metadata: dict[str, str]
    changes: tuple[tuple[Change, str], ...]
    """What is not as it was, each with the value that it had."""


class Terms:
    """How messages of one kind of queue are taken over into a queue of some dialect.

    ``key`` is the routing key of messages without a topic. Raises ``SubjectError`` if the dialect refuses it.
    """

    def __init__(self, kind: Kind, dialect: Dialect, key: str | None = None) -> None:
        self.kind = kind
        self._dialect = dialect
        if key is None:
            key = "" if dialect.empty_subject else "no-topic"
        self._key = Subject(key, dialect).text
        self._problems: dict[str, str | None] = {}

    def take(self, row: SourceRow) -> Taken:
        """What becomes of a message. Every message becomes something."""
        changes: list[tuple[Change, str]] = []
        metadata: dict[str, str] = {}
        state, reasons = self._state(row, changes)
        key = row.topic or self._key
        problem = self._problem(row.topic)
        if problem is not None:
            key = self._key
            metadata["topic"] = kept(row.topic or "")
            changes.append((Change.TOPIC, shown(row.topic)))
            reasons.append(f"the topic {shown(row.topic)} is refused: {problem}")
            if state is State.READY:
                state = State.DEAD
        message_id = row.id
        if not can_be_id(message_id):
            metadata["id"] = kept(message_id or "")
            changes.append((Change.ID, shown(message_id)))
            message_id = None
        priority = DEFAULT_PRIORITY if row.priority is None else min(max(row.priority, HIGHEST), LOWEST)
        if row.priority not in (None, priority):
            changes.append((Change.PRIORITY, str(row.priority)))
        if row.put is None:
            changes.append((Change.TIME, shown(row.id)))
        reason = "; ".join(reasons) if state is State.DEAD else None
        return Taken(message_id, key, row.data, priority, row.put, row.done, state, reason, metadata, tuple(changes))

    def _state(self, row: SourceRow, changes: list[tuple[Change, str]]) -> tuple[State, list[str]]:
        """What the status of a message becomes, and why, if that is a dead letter."""
        status = self.kind.status(row.number)
        reasons = []
        if status is Status.LOCKED:
            changes.append((Change.LOCKED, shown(row.id)))
        elif status is Status.FAILED:
            reasons.append(f"failed in {self.kind.title}")
        elif status is Status.UNKNOWN:
            changes.append((Change.STATUS, str(row.number)))
            reasons.append(f"the status {row.number} has no meaning in {self.kind.title}")
        return BECOMES[status], reasons

    def _problem(self, topic: str | None) -> str | None:
        """Why the dialect refuses a topic; None if it does not, or if there is none."""
        if not topic:
            return None
        if topic not in self._problems:
            if len(self._problems) >= REMEMBERED:
                self._problems.clear()
            try:
                Subject(topic, self._dialect)
                self._problems[topic] = None
            except SubjectError as error:
                self._problems[topic] = error.problem
        return self._problems[topic]


def can_be_id(text: str | None) -> bool:
    """Whether the queue takes it as the id of a message."""
    return text is not None and 0 < len(text) <= LONGEST_ID and _is_whole(text)


def kept(text: str) -> str:
    """A text as metadata can hold it: bytes that are no UTF-8 are written as escapes, and the longest are cut."""
    return text[:LONGEST_KEPT].encode("utf-8", "backslashreplace").decode()


def shown(text: str | None) -> str:
    """A text for a report: quoted, and cut if it is long."""
    if text is None:
        return "none"
    return repr(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…")


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# -- storing messages of another queue, each in the state that it was in there


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
