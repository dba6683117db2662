"""From Arrow record batches to what is put into the queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError, MessageError, PointsmanError
from pointsman.message import Message
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.subject import Subject
from pointsman.store import draft as checks
from pointsman.store.draft import Draft
from pointsman.store.stored import write_envelope

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

ENVELOPE = ("content_type", "time", "source", "correlation_id", "causation_id")
TYPES: dict[str, tuple[str, ...]] = {
    "subject": ("string",),
    "body": ("binary", "string"),
    "delivery_id": ("string",),
    "id": ("string",),
    "metadata": ("map<string,string>",),
    "priority": ("int", "bigint", "smallint", "tinyint"),
    "delay": ("double", "float", "int", "bigint"),
    "expires": ("double", "float", "int", "bigint"),
    "content_type": ("string",),
    "time": ("timestamp",),
    "source": ("string",),
    "correlation_id": ("string",),
    "causation_id": ("string",),
}
"""The columns that are written, and what each may hold."""
IGNORED = ("sequence", "attempts")
"""What a queue that was read has besides, and gives anew."""
MOST_SUBJECTS = 100_000
"""How many are remembered as valid."""


class Planned(NamedTuple):
    """A message to be put, and its fields that a draft has no room for."""

    draft: Draft
    envelope: str | None


def check_columns(schema: StructType) -> None:
    """Raises ``InputError`` (``bad-usage``) for a column that is missing, unknown or of a wrong type."""
    if "subject" not in schema.fieldNames():
        raise InputError("bad-usage", f"there is no column 'subject', only {', '.join(map(repr, schema.fieldNames()))}")
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if field.name not in TYPES and field.name not in IGNORED:
            known = ", ".join(TYPES)
            raise InputError("bad-usage", f"the queue has no place for the column {field.name!r}, only for {known}")
        if field.name in TYPES and kind not in TYPES[field.name]:
            problem = f"the column {field.name!r} holds {kind}, not {' or '.join(TYPES[field.name])}"
            raise InputError("bad-usage", problem)


def planned(batch: pa.RecordBatch) -> Iterator[Planned]:
    """What a batch says, row by row. Raises ``MessageError``."""
    columns = {name: _values(batch, name) for name in batch.schema.names if name in TYPES}
    nothing = [None] * batch.num_rows
    have_envelope = any(name in columns for name in ENVELOPE)
    for number in range(batch.num_rows):
        subject, body, delivery_id, id, metadata, priority, delay, expires, *envelope = (
            columns.get(name, nothing)[number] for name in TYPES
        )
        given = id if delivery_id is None else delivery_id
        draft = Draft(
            b"" if body is None else body,
            subject,
            5 if priority is None else priority,
            delay,
            expires,
            given,
            None if metadata is None else dict(metadata),
        )
        yield Planned(draft, _envelope(draft, envelope) if have_envelope else None)


class Checker:
    """Finds what the queue would refuse, before anything is decided."""

    def __init__(self, dialect: Dialect, max_bytes: int) -> None:
        self._dialect = dialect
        self._max_bytes = max_bytes
        self._subjects: set[str] = set()

    def check(self, batch: pa.RecordBatch) -> None:
        """Raises ``PointsmanError`` for the first row that cannot be put, and says which it is."""
        for number, (draft, _) in enumerate(planned(batch)):
            try:
                self._check_draft(draft)
            except PointsmanError as error:
                problem = f"row {number} of a batch, subject {draft.routing_key!r}, id {draft.id!r}: {error.problem}"
                raise type(error)(error.code, problem) from error

    def refused(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, str]]:
        """The id of each row that cannot be put, and why."""
        for number in range(batch.num_rows):
            row = batch.slice(number, 1)
            try:
                for draft, _ in planned(row):
                    self._check_draft(draft)
            except PointsmanError as error:
                yield row.column("id")[0].as_py(), str(error)

    def _check_draft(self, draft: Draft) -> None:
        subject = draft.routing_key
        if not isinstance(subject, str):
            raise MessageError("bad-message", "the subject is missing")
        if subject not in self._subjects:
            Subject(subject, self._dialect)
            if len(self._subjects) >= MOST_SUBJECTS:
                self._subjects.clear()
            self._subjects.add(subject)
        checks.data_bytes(draft.data, self._max_bytes)
        checks.check_priority(draft.priority)
        if draft.metadata is not None:
            checks.metadata_text(draft.metadata)
        for name, seconds in (("delay", draft.delay), ("expires", draft.expires)):
            if seconds is not None:
                checks.microseconds(seconds, name)
        if draft.id is not None:
            checks.check_id(draft.id)


def _values(batch: pa.RecordBatch, name: str) -> list[Any]:
    try:
        values: list[Any] = batch.column(batch.schema.get_field_index(name)).to_pylist()
    except (ValueError, OverflowError) as error:
        raise MessageError("bad-message", f"the column {name!r} has a value that cannot be: {error}") from error
    return values


def _envelope(draft: Draft, values: list[Any]) -> str | None:
    """The fields of the message besides; None if nothing is known of them, as of what ``Queue.put`` puts."""
    if all(value is None for value in values):
        return None
    fields = dict(zip(ENVELOPE, values, strict=True))
    if fields["source"] is None:
        del fields["source"]
    return write_envelope(Message(str(draft.routing_key), id=draft.id or "-", **fields))
