"""What the two queues that can be taken over mean by what they store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from pointsman.errors import InputError


class State(StrEnum):
    """What a message is in the queue that takes it over."""

    READY = "ready"
    DONE = "done"
    DEAD = "dead"
    ARCHIVED = "archived"


class Status(StrEnum):
    """What a message was in the queue that it comes from, by the names that both of them have for it."""

    READY = "READY"
    LOCKED = "LOCKED"
    DONE = "DONE"
    FAILED = "FAILED"
    ARCHIVED = "ARCHIVED"
    UNKNOWN = "UNKNOWN"
    """A number that has no meaning there."""


BECOMES: Mapping[Status, State] = {
    Status.READY: State.READY,
    # Whoever had taken it is gone, or will be when the old queue is.
    Status.LOCKED: State.READY,
    Status.DONE: State.DONE,
    Status.FAILED: State.DEAD,
    Status.ARCHIVED: State.ARCHIVED,
    Status.UNKNOWN: State.DEAD,
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the queues that can be taken over."""

    name: str
    title: str
    """As its authors write it."""
    statuses: tuple[Status, ...]
    """By the number that is stored."""
    ticks: int
    """How many of its units of time make a second."""
    has_topics: bool

    def status(self, number: int | None) -> Status:
        """What a stored number means."""
        if number is None or not 0 <= number < len(self.statuses):
            return Status.UNKNOWN
        return self.statuses[number]


_FOUR = (Status.READY, Status.LOCKED, Status.DONE, Status.FAILED)
MINIQ = Kind("miniq", "MiniQ", (*_FOUR, Status.ARCHIVED), 1_000, has_topics=True)
LITEQUEUE = Kind("litequeue", "litequeue", _FOUR, 1_000_000_000, has_topics=False)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (MINIQ, LITEQUEUE)}
AUTO = "auto"


def find_kind(name: str, columns: frozenset[str]) -> Kind:
    """The kind of that name; ``auto`` goes by whether there is a column for topics.

    Raises ``InputError`` (``bad-usage``) for any other name.
    """
    if name == AUTO:
        return MINIQ if "topic" in columns else LITEQUEUE
    if name not in KINDS:
        raise InputError("bad-usage", f"there is no kind {name!r}; there are {AUTO}, {', '.join(KINDS)}")
    return KINDS[name]
