"""From stored messages to Arrow record batches, a page at a time: memory does not grow with what is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError
from pointsman.store.stored import checksum, stamp

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pointsman.store.store import Store

COLUMNS = (
    "sequence bigint, id string, subject string, body binary, metadata map<string,string>, content_type string, "
    "time timestamp, source string, correlation_id string, causation_id string, priority int, attempts int"
)
"""What is read; every column but ``content_type``, ``time``, ``correlation_id`` and ``causation_id`` has a value."""
MOST_ROWS = 10_000
MOST_BYTES = 8 * 1024 * 1024
"""Of bodies, in one record batch; a body that is larger is alone in its batch."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


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


def pages(store: Store, ask: Callable[[Any, Stored | None], Any]) -> Iterator[list[Stored]]:
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

        rows, damaged = [], []
        for stored in page:
            row = self._row(stored)
            if row is None:
                damaged.append(stored)
            else:
                rows.append(row)
        columns = dict(zip(NAMES, zip(*rows, strict=True), strict=True)) if rows else dict.fromkeys(NAMES, ())
        arrays = [pa.array(columns[field.name], field.type) for field in self._schema]
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
        return (sequence, id, subject, body, map_items, *_envelope(fields, id, time), priority, attempts)


NAMES = tuple(column.split()[0] for column in COLUMNS.split(", "))


def _envelope(text: str | None, id: str, put_at: int) -> tuple[Any, ...]:
    """Content type, time, source, correlation id and causation id, as ``StoredMessage.message`` has them."""
    if text is None:
        return None, put_at, "pointsman", id, None
    fields = json.loads(text)
    time = fields.get("time")
    instant = None if time is None else (datetime.fromisoformat(time) - EPOCH) // MICROSECOND
    return (
        fields.get("content_type"),
        instant,
        fields.get("source", "pointsman"),
        fields.get("correlation_id"),
        fields.get("causation_id"),
    )


def arrow_schema(asked: StructType) -> pa.Schema:
    """The columns that were asked for, as Spark wants them. Raises ``InputError`` for one that does not exist."""
    from pyspark.sql.pandas.types import to_arrow_schema

    types = dict(column.split(" ", 1) for column in COLUMNS.split(", "))
    for field in asked.fields:
        if types.get(field.name) != field.dataType.simpleString():
            problem = f"there is no column {field.name!r} of type {field.dataType.simpleString()}; there are {COLUMNS}"
            raise InputError("bad-usage", problem)
    return to_arrow_schema(asked, timezone="UTC")
