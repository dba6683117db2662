"""Questions asked of rows: predicates, conditions and keys over the columns that they name, and no others."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pointsman.columns.plans import Question
from pointsman.columns.texts import is_writable, texts_of

Rows = npt.NDArray[np.int64]
TEXTS = ("id", "source", "content_type", "correlation_id", "causation_id")


class Row:
    """As much of a message as questions read of it."""

    __slots__ = (
        "body",
        "causation_id",
        "content_type",
        "correlation_id",
        "id",
        "memory",
        "metadata",
        "original_subject",
        "source",
        "subject",
        "time",
    )

    body: bytes | None
    memory: list[Any]
    metadata: dict[str, str]
    original_subject: str | None
    subject: str | None
    time: datetime | None


class Asker:
    """Answers questions about the rows of one batch; each row is read once, however many questions concern it."""

    def __init__(self, messages: pa.Table, subjects: list[str | None], numbers: npt.NDArray[np.int32]) -> None:
        self._messages = messages
        self._subjects = subjects
        self._numbers = numbers
        """For each row the place of its subject, after translation, among ``subjects``."""
        self._read: dict[int, Row] = {}

    def holds(self, question: Question, rows: Rows) -> npt.NDArray[np.bool_]:
        """For each of these rows whether the question holds."""
        found = (question.holds(row, row.memory) for row in self._rows(rows))
        return np.fromiter(found, np.bool_, len(rows))

    def values(self, key: Callable[[Any], str | None], rows: Rows) -> list[str | None]:
        """For each of these rows what a sticky route goes by."""
        return [key(row) for row in self._rows(rows)]

    def _rows(self, rows: Rows) -> list[Row]:
        read = self._read
        wanted = rows.tolist()
        new = [row for row in wanted if row not in read]
        if new:
            self._read_rows(new)
        return [read[row] for row in wanted]

    def _read_rows(self, rows: list[int]) -> None:
        chosen = self._messages.take(pa.array(rows, pa.int64()))
        names = set(chosen.column_names)
        columns = {name: _texts(chosen[name]) for name in TEXTS if name in names}
        bodies = _bytes(chosen["body"]) if "body" in names else None
        metadata = _maps(chosen["metadata"]) if "metadata" in names else None
        times = _times(chosen["time"]) if "time" in names else None
        originals = _texts(chosen["subject"])
        for at, number in enumerate(rows):
            row = self._read[number] = Row()
            row.memory = []
            row.subject = self._subjects[self._numbers[number]]
            row.original_subject = originals[at]
            row.body = b"" if bodies is None or bodies[at] is None else bodies[at]
            row.metadata = {} if metadata is None else metadata[at]
            row.time = None if times is None else times[at]
            for name in TEXTS:
                setattr(row, name, columns[name][at] if name in columns else None)


def _texts(column: Any) -> list[str | None]:
    """The texts of a column; None for one that is not UTF-8, which no message holds."""
    if pa.types.is_null(column.type):
        return [None] * len(column)
    return [None if each is None or not is_writable(each) else each for each in texts_of(column)]


def _bytes(column: Any) -> list[bytes | None]:
    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found


def _maps(column: Any) -> list[dict[str, str]]:
    return [{key: value for key, value in each or () if value is not None} for each in column.to_pylist()]


def _times(column: Any) -> list[datetime | None]:
    if pa.types.is_null(column.type):
        return [None] * len(column)
    micros = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    return [None if each is None else _time(each) for each in micros]


def _time(micros: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
    except (OverflowError, ValueError, OSError):
        return None
