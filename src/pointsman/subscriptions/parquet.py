"""Wildcard subscriptions as a Parquet file: a column for each field, the condition as a JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pointsman._util import json_text
from pointsman.errors import InputError, MessageError, PointsmanError
from pointsman.subscriptions.exporting import Columns
from pointsman.subscriptions.json_lines import Entry
from pointsman.subscriptions.limits import Limits
from pointsman.subscriptions.model import WildcardSubscription, bad
from pointsman.subscriptions.reading import FIELDS, NEEDED, read_subscription

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("owner", pa.string(), nullable=False),
        pa.field("destinations", pa.list_(pa.string()), nullable=False),
        ("pattern", pa.string()),
        ("dialect", pa.string()),
        ("condition", pa.string()),
        ("enabled", pa.bool_()),
        ("expires", pa.float64()),
        ("description", pa.string()),
    ]
)
REPEATED = ["owner", "destinations.list.element", "pattern", "dialect", "description"]
"""Columns in which values come again; ids and conditions are too many to be looked for."""
ROWS = 50_000
"""Rows that are read or written together."""
MOST_BYTES = 64 << 20
"""Of rows that wait to be written together."""


def open_parquet(path: str) -> Any:
    """The file, open. Raises ``InputError``: ``no-file``, and ``bad-subscription`` for columns that are not such."""
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise InputError("bad-subscription", f"it is no Parquet file: {error}", file=path) from None
    except OSError as error:
        raise InputError("no-file", f"it cannot be read: {error.strerror or error}", file=path) from None
    names = file.schema_arrow.names
    for name in NEEDED:
        if name not in names:
            raise InputError("bad-subscription", f"it has no column {name!r}", file=path)
    for name in names:
        if name not in FIELDS:
            problem = f"column {name!r}: there is no such field beside {', '.join(FIELDS)}"
            raise InputError("bad-subscription", problem, file=path)
    return file


def read_batches(file: Any, name: str, rows: int = ROWS) -> Iterator[Any]:
    """The record batches of an open file, with all columns of the schema. Raises ``InputError``."""
    try:
        for batch in file.iter_batches(batch_size=rows):
            yield _with_schema(batch)
    except (pa.ArrowException, OSError) as error:
        raise InputError("bad-subscription", f"its columns cannot be used: {error}", file=name) from None


def read_rows(batch: Any, name: str, before: int, limits: Limits, skip: int = 0) -> Iterator[Entry]:
    """The subscriptions of a batch, which so many rows come before. Raises ``InputError`` with the file and the row."""
    for place, row in enumerate(batch.to_pylist(), before + 1):
        if place > skip:
            yield Entry(place, _read_row(row, name, place, limits))


def _read_row(row: dict[str, Any], name: str, place: int, limits: Limits) -> WildcardSubscription:
    try:
        if row["condition"] is not None:
            row["condition"] = json_text.parse(row["condition"])
        return read_subscription(row, limits)
    except MessageError as error:
        failed: PointsmanError = bad("condition", error.problem)
    except PointsmanError as error:
        failed = error
    failed.file, failed.line = name, place
    raise failed


def write_rows(path: str, pages: Iterable[Columns]) -> None:
    """Writes a file of all pages."""
    with pq.ParquetWriter(path, SCHEMA, compression="zstd", use_dictionary=REPEATED) as writer:
        held: list[Any] = []
        for columns in pages:
            held.append(_batch(columns))
            if sum(map(len, held)) >= ROWS or sum(batch.nbytes for batch in held) >= MOST_BYTES:
                writer.write_table(pa.Table.from_batches(held))
                held.clear()
        if held:
            writer.write_table(pa.Table.from_batches(held))


def _batch(columns: Columns) -> Any:
    destinations = pa.array(columns.destinations).dictionary_encode()
    names = [json_text.parse(text) for text in destinations.dictionary.to_pylist()]
    arrays = {
        "destinations": pa.array(names, SCHEMA.field("destinations").type).take(destinations.indices),
        "enabled": pa.array(columns.enabled, pa.int8()).cast(pa.bool_()),
    }
    for field in SCHEMA:
        if field.name not in arrays:
            arrays[field.name] = pa.array(getattr(columns, field.name), field.type)
    return pa.RecordBatch.from_arrays([arrays[field.name] for field in SCHEMA], schema=SCHEMA)


def _with_schema(batch: Any) -> Any:
    columns = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(len(batch), field.type)
        for field in SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, names=SCHEMA.names)
