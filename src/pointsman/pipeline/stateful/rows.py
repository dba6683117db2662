"""The rows that come out: what is to be sent, and what was moved."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

COMMAND = "command"
MOVE = "move"
REQUEST = "request"
ANSWER = "answer"
RESULT = "result"

CROSSING = (
    "kind string, saga string, route string, correlation_id string, outcome string, reason string, "
    "path string, id string, subject string, metadata string, body binary, "
    "content_type string, causation_id string, time bigint, number bigint"
)
"""The columns as they come from Python: the list and the mapping as JSON, the time in microseconds."""
COLUMNS = [column.split()[0] for column in CROSSING.split(", ")]
SAGA_COLUMNS = ("saga", "path")
"""Those that only rows of sagas have."""
GATHERING_COLUMNS = ("route",)
"""Those that only rows of gatherings have."""


class OutputRow(NamedTuple):
    """One row, in the order of the columns but for its number."""

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

    def crossing(self, number: int) -> tuple[Any, ...]:
        """The row as it goes to Spark, in the order of ``CROSSING``."""
        path = None if self.path is None else _list_text(self.path)
        metadata = None if self.metadata is None else _mapping_text(self.metadata)
        return (*self[:6], path, *self[7:9], metadata, *self[10:13], round(self.time * 1_000_000), number)


@lru_cache(maxsize=1024)
def _list_text(items: tuple[str, ...]) -> str:
    return json.dumps(items, ensure_ascii=False)


@lru_cache(maxsize=1024)
def _mapping_text(pairs: tuple[tuple[str, str], ...]) -> str:
    return json.dumps(dict(pairs), ensure_ascii=False)
