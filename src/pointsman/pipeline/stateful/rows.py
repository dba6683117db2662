"""The rows that come out: what is to be sent, and what was moved."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
