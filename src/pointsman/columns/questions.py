"""Questions asked of rows: predicates, conditions and keys over the columns that they name, and no others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pointsman.conditions import Condition
from pointsman.conditions.compiler import Holds

Rows = npt.NDArray[np.int64]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """What a route asks beyond its pattern: a condition on the metadata, a predicate, or both."""

    condition: Condition | None
    predicate: Holds | None
    fields: frozenset[str]
    """The fields of a message that the predicate reads."""

    def holds(self, message: Any, memory: list[Any]) -> bool:
        """Whether both hold; ``memory`` keeps the parsed body of the message."""
        if self.condition is not None and not self.condition.holds(message.metadata):
            return False
        return self.predicate is None or self.predicate(message, memory)


class Row:
    """As much of a message as questions read of it; what they do not read is left as it is here."""

    body: bytes = b""
    metadata: Mapping[str, str] = MappingProxyType({})
    subject: str | None = None
    original_subject: str | None = None
    time: datetime | None = None
    id: str | None = None
    source: str | None = None
    content_type: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None

    __slots__ = ("__dict__", "memory")

    def __init__(self) -> None:
        self.memory: list[Any] = []
        """The parsed body, once a question has asked for it."""


class Asker:
    """Answers questions about the rows of one batch; each row is read once, however many questions concern it."""

    def __init__(
        self, messages: pa.Table, subjects: list[str | None], numbers: npt.NDArray[np.int32], reads: frozenset[str]
    ) -> None:
        """``reads`` are the fields that the questions read."""
        wanted = [name for name in messages.column_names if name in ("subject", "original_subject") or name in reads]
        self._messages = messages.select(wanted)
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
        made = [Row() for _ in rows]
        self._read.update(zip(rows, made, strict=True))
        original = "original_subject" if "original_subject" in chosen.column_names else "subject"
        subjects = [self._subjects[number] for number in self._numbers[rows].tolist()]
        columns = {"subject": subjects, "original_subject": _texts(chosen[original])}
        columns |= {name: READERS[name](chosen[name]) for name in READERS if name in chosen.column_names}
        for name, values in columns.items():
            for row, value in zip(made, values, strict=True):
                setattr(row, name, value)


def texts_of(column: Any) -> list[str | None]:
    """The texts of a column; one that is not UTF-8 holds lone surrogates, which no dialect allows."""
    if pa.types.is_null(column.type):
        return [None] * len(column)
    try:
        found: list[str | None] = column.to_pylist()
        return found
    except UnicodeDecodeError:
        raw = column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary()).to_pylist()
        return [None if each is None else each.decode(errors="surrogateescape") for each in raw]


def is_writable(text: str | None) -> bool:
    """Whether UTF-8 can write the text."""
    try:
        return text is not None and (text.isascii() or bool(text.encode()))
    except UnicodeEncodeError:
        return False


def writable(texts: list[str | None]) -> list[str | None]:
    """The texts; None for one that UTF-8 cannot write, which no message holds."""
    return [text if is_writable(text) else None for text in texts]


def _texts(column: Any) -> list[str | None]:
    return writable(texts_of(column))


def _bytes(column: Any) -> list[bytes]:
    if column.null_count:
        column = pc.fill_null(column.cast(pa.binary()), b"")
    found: list[bytes] = column.cast(pa.binary()).to_pylist()
    return found


def _maps(column: Any) -> list[dict[str, str]]:
    if pa.types.is_null(column.type):
        return [{} for _ in range(len(column))]
    return [{key: value for key, value in each or () if value is not None} for each in column.to_pylist()]


def _times(column: Any) -> list[datetime | None]:
    if pa.types.is_null(column.type):
        return [None] * len(column)
    micros = column.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    return [None if each is None else _time(each) for each in micros]


def _time(micros: int) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None


READERS: dict[str, Callable[[Any], list[Any]]] = {
    **dict.fromkeys(("id", "source", "content_type", "correlation_id", "causation_id"), _texts),
    "body": _bytes,
    "metadata": _maps,
    "time": _times,
}
"""How the column of each field is read."""
