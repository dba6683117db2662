"""Rows of Spark to and from messages of the queue, a record batch of Arrow at a time.

Memory does not grow with how much is read: a page has a bounded number of messages and of bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError, MessageError, PointsmanError
from pointsman.message import Message
from pointsman.patterns.dialect import Dialect
from pointsman.patterns.subject import Subject
from pointsman.store import message as checks
from pointsman.store.message import Draft, checksum, stamp, write_envelope

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pointsman.store.store import Store

COLUMNS = (
    "sequence bigint, id string, subject string, body binary, metadata map<string,string>, content_type string, "
    "time timestamp, source string, correlation_id string, causation_id string, priority int, attempts int"
)
"""What is read; every column but ``content_type``, ``time``, ``correlation_id`` and ``causation_id`` has a value."""
TYPE_OF = dict(column.split(" ", 1) for column in COLUMNS.split(", "))
ENVELOPE = ("content_type", "time", "source", "correlation_id", "causation_id")
WRITTEN: dict[str, tuple[str, ...]] = {
    "subject": ("string",),
    "body": ("binary", "string"),
    "delivery_id": ("string",),
    "id": ("string",),
    "metadata": ("map<string,string>",),
    "priority": ("int", "bigint", "smallint", "tinyint"),
    "delay": ("double", "float", "int", "bigint"),
    "expires": ("double", "float", "int", "bigint"),
    **{name: (TYPE_OF[name],) for name in ENVELOPE},
}
"""The columns that are written, and what each may hold."""
IGNORED = ("sequence", "attempts")
"""What a queue that was read has besides, and gives anew."""
MOST_ROWS = 10_000
MOST_BYTES = 8 * 1024 * 1024
"""Of bodies, in one record batch; a body that is larger is alone in its batch."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


# -- from the queue to Spark


class Stored(NamedTuple):
    """A row of the statements: a message as the file has it, with its texts as bytes."""

    sequence: int
    via: int
    until: int
    given_id: bytes | None
    key: bytes | None
    body: bytes | None
    kind: str
    """``text`` or ``blob``: what the body was put as."""
    priority: int
    time: int
    expires: int | None
    metadata: bytes | None
    envelope: bytes | None
    checksum: int
    attempts: int


Ask = Callable[[Any, Stored | None], Any]
"""Sends a statement on a connection: for what comes after a row, or for everything."""


def pages(store: Store, ask: Ask) -> Iterator[list[Stored]]:
    """What a question gives, in pages; it is asked anew after the last row of each.

    Between two pages nothing of the file is held open, however long the caller takes.
    """
    last: Stored | None = None
    is_over = False
    while not is_over:
        page: list[Stored] = []
        size = 0
        with store.read() as connection:
            cursor = ask(connection, last)
            for row in cursor:
                found = Stored._make(row)
                page.append(found)
                size += len(found.body or b"")
                if len(page) >= MOST_ROWS or size >= MOST_BYTES:
                    break
            else:
                is_over = True
            cursor.close()
        if page:
            last = page[-1]
            yield page


class Converter:
    """Makes record batches of pages."""

    def __init__(self, file: str, schema: pa.Schema) -> None:
        self._file = file
        self._schema = schema

    def convert(self, page: Sequence[Stored]) -> tuple[pa.RecordBatch, list[Stored]]:
        """The messages as a record batch, and those that are not what was put, which are not in it."""
        import pyarrow as pa

        rows = [self._row(stored) for stored in page]
        damaged = [stored for stored, row in zip(page, rows, strict=True) if row is None]
        columns = dict(zip(TYPE_OF, zip(*filter(None, rows), strict=True), strict=False))
        arrays = [pa.array(columns.get(field.name, ()), field.type) for field in self._schema]
        return pa.record_batch(arrays, schema=self._schema), damaged

    def _row(self, stored: Stored) -> tuple[Any, ...] | None:
        """The row; None if the message is damaged."""
        sequence, _, _, given, key, body, kind, priority, time, expires, metadata, envelope, value, attempts = stored
        if body is None or key is None:
            return None
        try:
            subject = key.decode()
            given_id = None if given is None else given.decode()
            pairs = None if metadata is None else metadata.decode()
            fields = None if envelope is None else envelope.decode()
            numbers = stamp(sequence, time, priority, expires, is_text=kind == "text")
            if checksum(numbers, subject, body, given_id, pairs, fields) != value:
                return None
        except (UnicodeDecodeError, TypeError, AttributeError):
            # Damage can make a number of a text, and a text that is none.
            return None
        id = given_id or f"{self._file}-{sequence}"
        map_items = () if pairs is None else tuple(json.loads(pairs).items())
        return (sequence, id, subject, body, map_items, *_read_envelope(fields, id, time), priority, attempts)


def _read_envelope(text: str | None, id: str, put_at: int) -> tuple[Any, ...]:
    """Content type, time, source, correlation id and causation id, as ``StoredMessage.message`` has them."""
    if text is None:
        return None, put_at, "pointsman", id, None
    fields = {"source": "pointsman", **json.loads(text)}
    if fields.get("time") is not None:
        fields["time"] = (datetime.fromisoformat(fields["time"]) - EPOCH) // MICROSECOND
    return tuple(fields.get(name) for name in ENVELOPE)


def arrow_schema(asked: StructType) -> pa.Schema:
    """The columns that were asked for, as Spark wants them. Raises ``InputError`` for one that does not exist."""
    from pyspark.sql.pandas.types import to_arrow_schema

    for field in asked.fields:
        if TYPE_OF.get(field.name) != field.dataType.simpleString():
            problem = f"there is no column {field.name!r} of type {field.dataType.simpleString()}; there are {COLUMNS}"
            raise InputError("bad-usage", problem)
    return to_arrow_schema(asked, timezone="UTC")


# -- from Spark to the queue


def check_columns(schema: StructType) -> None:
    """Raises ``InputError`` (``bad-usage``) for a column that is missing, unknown or of a wrong type."""
    if "subject" not in schema.fieldNames():
        raise InputError("bad-usage", f"there is no column 'subject', only {', '.join(map(repr, schema.fieldNames()))}")
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if field.name not in WRITTEN and field.name not in IGNORED:
            known = ", ".join(WRITTEN)
            raise InputError("bad-usage", f"the queue has no place for the column {field.name!r}, only for {known}")
        if field.name in WRITTEN and kind not in WRITTEN[field.name]:
            problem = f"the column {field.name!r} holds {kind}, not {' or '.join(WRITTEN[field.name])}"
            raise InputError("bad-usage", problem)


def drafts(batch: pa.RecordBatch) -> Iterator[tuple[Draft, str | None]]:
    """The messages to be put, each with its envelope: the fields that a draft lacks. Raises ``MessageError``."""
    columns = {name: _values(batch, name) for name in batch.schema.names if name in WRITTEN}
    nothing = [None] * batch.num_rows
    have_envelope = any(name in columns for name in ENVELOPE)
    for number in range(batch.num_rows):
        subject, body, delivery_id, id, metadata, priority, delay, expires, *envelope = (
            columns.get(name, nothing)[number] for name in WRITTEN
        )
        draft = Draft(
            b"" if body is None else body,
            subject,
            5 if priority is None else priority,
            delay,
            expires,
            id if delivery_id is None else delivery_id,
            None if metadata is None else dict(metadata),
        )
        yield draft, _envelope_of(draft, envelope) if have_envelope else None


class Checker:
    """Finds what the queue would refuse, before anything is decided."""

    def __init__(self, dialect: Dialect, max_bytes: int) -> None:
        self._max_bytes = max_bytes

        @lru_cache(maxsize=100_000)
        def check_subject(text: str) -> None:
            Subject(text, dialect)

        self._check_subject = check_subject

    def check(self, batch: pa.RecordBatch) -> None:
        """Raises ``PointsmanError`` for the first row that cannot be put, and says which it is."""
        for number, (draft, _) in enumerate(drafts(batch)):
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
                for draft, _ in drafts(row):
                    self._check_draft(draft)
            except PointsmanError as error:
                yield row.column("id")[0].as_py(), str(error)

    def _check_draft(self, draft: Draft) -> None:
        if not isinstance(draft.routing_key, str):
            raise MessageError("bad-message", "the subject is missing")
        self._check_subject(draft.routing_key)
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


def _envelope_of(draft: Draft, values: list[Any]) -> str | None:
    """The envelope; None if nothing is known of it, as of what ``Queue.put`` puts."""
    if all(value is None for value in values):
        return None
    fields = dict(zip(ENVELOPE, values, strict=True))
    if fields["source"] is None:
        del fields["source"]
    return write_envelope(Message(str(draft.routing_key), id=draft.id or "-", **fields))
