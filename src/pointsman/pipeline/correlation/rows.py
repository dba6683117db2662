"""The rows that cross between Spark and the workers: events go in; commands, results and moves come out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from pointsman.message import Message
from pointsman.pipeline.columns import message_of

UNKNOWN = -(1 << 62)
"""A time or a position that a row does not have; before all others."""
REST = ("causation_id", "content_type", "source", "metadata")
"""Fields that cross together as one text: few rows have them, and each column costs."""

COMMAND, MOVE, REQUEST, ANSWER, RESULT = "command", "move", "request", "answer", "result"
"""The kinds of rows that come out."""
DERIVED = (COMMAND, RESULT)
"""Those that are messages."""
CROSSING = (
    "kind string, saga string, route string, correlation_id string, outcome string, reason string, "
    "path string, id string, subject string, metadata string, body binary, "
    "content_type string, causation_id string, time bigint, number bigint"
)
"""The columns that come out of Python: the list and the mapping as JSON, the time in microseconds."""


class Event(NamedTuple):
    """A message that may move something, as it crosses to Python."""

    position: int
    time: int
    """In microseconds."""
    place: str
    """Orders messages of the same time, or without one, as the source has them."""
    id: str
    subject: str
    correlation_id: str
    rest: str
    body: bytes

    @property
    def seconds(self) -> float | None:
        """The time; None if it has none."""
        return None if self.time == UNKNOWN else self.time / 1_000_000

    def message(self) -> Message:
        """The message. Raises ``MessageError`` if it is none."""
        own = self._asdict() | {"time": None if self.time == UNKNOWN else self.time}
        return message_of(_rest(self.rest) | own)


@lru_cache(maxsize=1024)
def _rest(text: str) -> dict[str, Any]:
    """The fields that crossed as one text; many messages have the same."""
    found: dict[str, Any] = json.loads(text)
    return found


def in_order(frames: Iterable[Any]) -> list[Event]:
    """The events of pandas frames, by position if they have one, then time, place in the source and id."""
    found: list[Event] = []
    for frame in frames:
        found += map(Event._make, zip(*(frame[name].tolist() for name in Event._fields), strict=True))
    found.sort(key=itemgetter(0, 1, 2, 3))
    return found


class OutputRow(NamedTuple):
    """One row that comes out, in the order of the columns but for its number."""

    kind: str
    saga: str | None
    route: str | None
    correlation_id: str
    outcome: str | None = None
    reason: str | None = None
    path: tuple[str, ...] | None = None
    id: str | None = None
    subject: str | None = None
    metadata: tuple[tuple[str, str], ...] | None = None
    """Pairs of key and value."""
    body: bytes | None = None
    content_type: str | None = None
    causation_id: str | None = None
    time: float = 0.0
    """In seconds."""

    def message(self, subject: str) -> Message:
        """The message that a derived row is, under the subject that it has after translation."""
        return Message(
            subject,
            self.body or b"",
            metadata=dict(self.metadata or ()),
            id=self.id or "",
            content_type=self.content_type,
            correlation_id=self.correlation_id,
            causation_id=self.causation_id,
        )


def crossing(rows: Sequence[OutputRow]) -> dict[str, Sequence[Any]]:
    """Rows, at least one, as the columns that go to Spark, in the order of ``CROSSING``."""
    columns: dict[str, Sequence[Any]] = dict(zip(OutputRow._fields, zip(*rows, strict=True), strict=True))
    columns["path"] = [None if path is None else _list_text(path) for path in columns["path"]]
    columns["metadata"] = [None if pairs is None else _mapping_text(pairs) for pairs in columns["metadata"]]
    columns["time"] = [round(time * 1_000_000) for time in columns["time"]]
    columns["number"] = range(len(rows))
    return columns


@lru_cache(maxsize=1024)
def _list_text(items: tuple[str, ...]) -> str:
    return json.dumps(items, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _mapping_text(pairs: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(pairs), ensure_ascii=False)
