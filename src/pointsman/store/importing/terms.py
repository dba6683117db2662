"""What becomes of one message of another queue."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from pointsman.errors import SubjectError
from pointsman.patterns import Dialect, Subject
from pointsman.store.draft import LONGEST_ID
from pointsman.store.importing.kinds import BECOMES, Kind, State, Status
from pointsman.store.importing.source import SourceRow

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
