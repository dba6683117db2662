"""Files of messages as Arrow tables, one chunk after the other: JSON Lines, CSV and Parquet, without Spark.

Rows have the columns of the files and ``problem``; what cannot be read is a row with a problem, and no row is left out.
"""

from __future__ import annotations

import base64
import csv
import json
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pointsman.columns.receive import PROBLEM, SCHEMA, STAGE, USUAL_TIME, receive
from pointsman.errors import InputError
from pointsman.table.tools.messages_file import LINE_BITS, MAXIMUM_LINE, WHITE_SPACE

CHUNK = 4 << 20
"""Bytes of text that are read at once."""
ROWS = 16_384
"""Rows of Parquet that are read at once."""
ON_SPARK = "add --master 'local[*]' to do it on Spark"
MAP = SCHEMA.field("metadata").type
TIME = SCHEMA.field("time").type
FIELDS: dict[str, tuple[pa.DataType, ...]] = {
    **{name: (pa.string(),) for name in (*SCHEMA.names[:6], "original_subject", "principal")},
    "metadata": (MAP,),
    "body": (pa.binary(), pa.string()),
    "time": (TIME, pa.timestamp("us")),
}
"""The types that a column of this name may have."""
KNOWN = (*FIELDS, "position", "problem", "body_base64")
"""Columns that mean something, whether their names are written in upper or lower case."""
TYPES = {
    "int64": "bigint",
    "int32": "int",
    "int16": "smallint",
    "int8": "tinyint",
    "bool": "boolean",
    "date32[day]": "date",
}
"""What Spark calls a type, where Arrow has another word."""
_TIME = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](?:(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\s*(\S+)?)?)?)?)?",
    re.ASCII,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)


class Chunk(NamedTuple):
    """Some of the messages of files."""

    rows: pa.Table
    """Names of columns that mean something are in lower case."""
    names: Mapping[str, str]
    """These columns as the files spell them."""


def read_files(path: Path, form: str, options: Mapping[str, str]) -> Iterator[Chunk]:
    """The messages of a file or folder, chunk by chunk; at least one chunk, which may be empty.

    ``form`` is ``json``, ``csv`` or ``parquet``. The files of a folder come in the order of their paths. Raises
    ``InputError``: ``no-file`` when a file cannot be read, ``bad-usage`` for formats, options and columns that cannot
    be used here.
    """
    reader = _READERS.get(form)
    if reader is None:
        raise InputError("bad-usage", f"the format {form!r} is read by Spark alone; {ON_SPARK}", file=str(path))
    allowed = ("sep", "delimiter") if form == "csv" else ()
    for name in options:
        if name not in allowed:
            raise InputError("bad-usage", f"the option {name!r} of {form} is Spark's; {ON_SPARK}", file=str(path))
    try:
        yield from reader(path, options)
    except (OSError, pa.ArrowException, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise InputError("no-file", f"it cannot be read: {reason}", file=str(path)) from None


def files_of(path: Path) -> list[Path]:
    """The file, or the files of a folder, in the order of their paths.

    As with Spark, folders within it count if they are named as values of a column are, ``region=eu``, and nothing that
    is hidden does.
    """
    if not path.is_dir():
        return [path]
    found = []
    for each in path.rglob("*"):
        *folders, name = each.relative_to(path).parts
        shown = name[0] not in "._" and all("=" in folder and folder[0] not in "._" for folder in folders)
        if shown and each.is_file():
            found.append(each)
    return sorted(found, key=lambda each: each.absolute().as_uri())


# -- JSON Lines


def _json(path: Path, _: Mapping[str, str]) -> Iterator[Chunk]:
    files = [file for file in files_of(path) if _has_bytes(file)]
    yield Chunk(SCHEMA.empty_table(), {})
    for number, file in enumerate(files):
        label = "line " if len(files) == 1 else f"{file.name} line "
        for first, lines in _lines(file):
            numbered = [(at, line) for at, line in enumerate(lines, first) if line.strip(WHITE_SPACE.encode())]
            fits = [line if len(line) <= MAXIMUM_LINE else None for _, line in numbered]
            names = pa.array([f"{label}{at}" for at, _ in numbered], pa.string())
            made = receive(pa.array(fits, pa.binary()), names)
            if None in fits:
                texts = pa.array([line for _, line in numbered], pa.binary())
                made = set_column(made, "body", pc.coalesce(made["body"].combine_chunks(), texts))
            places = pa.array([number << LINE_BITS | at for at, _ in numbered], pa.int64())
            yield Chunk(set_column(made, "position", pc.coalesce(made["position"].combine_chunks(), places)), {})


def _has_bytes(file: Path) -> bool:
    with pa.input_stream(str(file), compression="detect") as stream:
        return bool(stream.read(1))


def _lines(file: Path) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a file, many at a time, with the number of the first of them; a byte order mark is passed over."""
    number = 1
    with pa.input_stream(str(file), compression="detect") as stream:
        rest = stream.read(len(BOM_UTF8)).removeprefix(BOM_UTF8)
        while block := stream.read(CHUNK):
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            if lines:
                yield number, lines
                number += len(lines)
    if rest:
        yield number, [rest]


# -- CSV


def _csv(path: Path, options: Mapping[str, str]) -> Iterator[Chunk]:
    """Each line is a row: a text in quotation marks does not go on in the next line, as with Spark."""
    separator = options.get("sep", options.get("delimiter", ","))
    if len(separator) != 1:
        raise InputError("bad-usage", f"the separator {separator!r} is not one character; {ON_SPARK}", file=str(path))
    header: list[str] | None = None
    for file in files_of(path):
        if path.is_dir() and file.parent != path:
            raise InputError("bad-usage", f"CSV with columns in the names of folders; {ON_SPARK}", file=str(path))
        is_first = True
        for _, lines in _lines(file):
            texts = [text for line in lines if (text := line.decode(errors="replace").removesuffix("\r")).strip()]
            if is_first and texts:
                names = _fields(texts[:1], separator)[0]
                header = header or [name or f"_c{number}" for number, name in enumerate(names)]
                texts, is_first = texts[1:], False
            if header is not None and texts:
                yield _fit(*_rows(texts, header, separator))
    if header is None:
        raise InputError("bad-usage", "it has no line with the names of the columns", file=str(path))
    yield _fit(*_rows([], header, separator))


def _rows(texts: list[str], header: list[str], separator: str) -> Chunk:
    rows = _fields(texts, separator)
    width = len(header)
    wrong = np.array([len(row) != width for row in rows], np.bool_)
    if wrong.any():
        rows = [row if len(row) == width else [*row[:width], *[""] * (width - len(row))] for row in rows]
    columns = zip(*rows, strict=True) if rows else [()] * width
    arrays = [pa.array([each or None for each in column], pa.string()) for column in columns]
    table, names = _lowered(pa.table(arrays, header))
    table = _with_problems(table, names)
    if wrong.any():
        table = _set_problem(table, pa.array(wrong), "the row is not as the columns say")
        whole = pa.array([text if is_wrong else None for text, is_wrong in zip(texts, wrong, strict=True)], pa.string())
        given = [table["body"].combine_chunks()] if "body" in table.column_names else []
        table = set_column(table, "body", pc.coalesce(whole, *given))
    return Chunk(table, names)


def _fields(texts: list[str], separator: str) -> list[list[str]]:
    limit = csv.field_size_limit(1 << 30)
    try:
        if sum(text.count('"') % 2 for text in texts):
            # A reader would look for the end of the quotation in the next line.
            return [next(csv.reader([text], delimiter=separator)) for text in texts]
        return list(csv.reader(texts, delimiter=separator))
    finally:
        csv.field_size_limit(limit)


# -- Parquet


def _parquet(path: Path, _: Mapping[str, str]) -> Iterator[Chunk]:
    files = [str(file) for file in files_of(path)]
    root = str(path) if path.is_dir() else None
    found = ds.dataset(files, format="parquet", partitioning="hive", partition_base_dir=root)
    schema = _plain(found.schema, files[:1])
    yield _fit(*_lowered(schema.empty_table()))
    for fragment in found.get_fragments():
        keys = ds.get_partition_keys(fragment.partition_expression)
        # A row group may be as large as the file: it is read in small pieces.
        with pq.ParquetFile(fragment.path, buffer_size=1 << 20, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches(ROWS, use_threads=False):
                table = pa.Table.from_batches([batch])
                arrays = [_column(table, field, keys) for field in schema]
                yield _fit(*_lowered(pa.Table.from_arrays(arrays, schema=schema)))


def _column(table: pa.Table, field: pa.Field[Any], keys: Mapping[str, Any]) -> Any:
    if field.name in table.column_names:
        column = table[field.name]
        return column if column.type == field.type else column.cast(field.type, safe=False)
    return pa.repeat(pa.scalar(keys.get(field.name), field.type), len(table))


def _plain(schema: pa.Schema, files: Sequence[str]) -> pa.Schema:
    """The schema with the plain type of each kind of text and time, as Spark reads them."""
    stored = pq.read_metadata(files[0]).schema
    columns = [stored.column(number) for number in range(len(stored))]
    instants = {column.path for column in columns if column.physical_type == "INT96"}
    return pa.schema([(field.name, _plain_type(field.type, is_instant=field.name in instants)) for field in schema])


def _plain_type(kind: pa.DataType, *, is_instant: bool) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_timestamp(kind):
        return TIME if is_instant or kind.tz is not None else pa.timestamp("us")
    if pa.types.is_map(kind) and pa.types.is_string(_plain_type(kind.item_type, is_instant=False)):
        return MAP
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    return kind


_READERS: dict[str, Callable[[Path, Mapping[str, str]], Iterator[Chunk]]] = {
    "json": _json,
    "csv": _csv,
    "parquet": _parquet,
}


# -- columns that are texts where they should not be


def _fit(rows: pa.Table, names: Mapping[str, str]) -> Chunk:
    """The rows with ``metadata`` as a map and ``time`` as a time, where they are texts, and the body as bytes."""
    made = _with_bytes(_with_problems(rows, names))
    for field, what in (("metadata", "a JSON object of texts"), ("time", "a time")):
        if field not in made.column_names or not pa.types.is_string(made[field].type):
            continue
        texts = made[field].combine_chunks()
        values = _by_value(texts, _map, MAP) if field == "metadata" else _times(texts)
        wrong = pc.and_(texts.is_valid(), values.is_null())
        made = _set_problem(made, wrong, pc.binary_join_element_wise(f"{field} is not {what}: ", texts, ""))
        fine = pc.is_null(made["problem"].combine_chunks())
        kept = pc.if_else(fine, pa.array(range(len(values)), pa.int64()), None)
        made = set_column(made, field, values.take(kept))
    _check(made, names)
    return Chunk(made, names)


def _check(table: pa.Table, names: Mapping[str, str]) -> None:
    if "subject" not in table.column_names:
        known = ", ".join(repr(names.get(name, name)) for name in table.column_names if name != "problem")
        raise InputError("bad-usage", f"messages have no column 'subject', only {known}")
    for field, allowed in FIELDS.items():
        if field in table.column_names and table[field].type not in allowed:
            kinds = {MAP: "map<string,string>", TIME: "timestamp", pa.timestamp("us"): "timestamp_ntz"}
            expected = " or ".join(kinds.get(kind, str(kind)) for kind in allowed)
            kind = TYPES.get(str(table[field].type), str(table[field].type))
            raise InputError("bad-usage", f"the column {names[field]!r} of messages is {kind}, not {expected}")


def _with_problems(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    if "problem" not in table.column_names:
        return table.append_column("problem", pa.nulls(len(table), PROBLEM))
    if table["problem"].type != PROBLEM:
        kind = f"is {table['problem'].type}, not struct<stage:string,code:string,reason:string>"
        raise InputError("bad-usage", f"the column {names['problem']!r} of messages {kind}; rename it first")
    return table


def _set_problem(table: pa.Table, where: pa.Array[Any], reason: str | pa.Array[Any]) -> pa.Table:
    """The rows with this problem where the mask is true and there is none so far."""
    if not pc.any(where).as_py():
        return table
    parts = [pa.repeat(each, len(table)) if isinstance(each, str) else each for each in (STAGE, "bad-message", reason)]
    made = pa.StructArray.from_arrays(parts, fields=list(PROBLEM))
    given = table["problem"].combine_chunks()
    return set_column(table, "problem", pc.if_else(pc.and_(where, given.is_null()), made, given))


def _with_bytes(table: pa.Table) -> pa.Table:
    """The rows with the bytes of ``body_base64`` as their body, where there is such a column."""
    if "body_base64" not in table.column_names or not pa.types.is_string(table["body_base64"].type):
        return table
    texts = table["body_base64"].combine_chunks()
    read = _by_value(texts, _decoded, pa.binary())
    has_body = "body" in table.column_names
    plain = table["body"].combine_chunks().cast(pa.binary()) if has_body else pa.nulls(len(table), pa.binary())
    wrong = pc.and_(texts.is_valid(), pc.or_(read.is_null(), plain.is_valid()))
    told = _set_problem(table, wrong, "body_base64 is not Base64, or there is a body as well")
    return set_column(told, "body", pc.coalesce(read, plain)).drop_columns("body_base64")


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _map(text: str) -> list[tuple[str, str | None]] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    kept = (str, type(None))
    return [
        (key, each if isinstance(each, kept) else json.dumps(each, ensure_ascii=False, separators=(",", ":")))
        for key, each in value.items()
    ]


def _times(texts: pa.Array[Any]) -> pa.Array[Any]:
    if not pc.any(pc.invert(pc.match_substring_regex(texts, USUAL_TIME))).as_py():
        try:
            return texts.cast(TIME)
        except pa.ArrowInvalid:
            pass
    return _by_value(texts, _time, TIME)


def _time(text: str) -> datetime | None:
    """The time that Spark takes a text for; where no offset is named it is UTC."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part or default) for part, default in zip(match.groups()[:6], "011000", strict=True)
    )
    fraction, zone = match.groups()[6:]
    try:
        return datetime(year, month, day, hour, minute, second, int((fraction or "")[:6].ljust(6, "0")), _zone(zone))
    except (ValueError, KeyError, OSError):
        return None


def _zone(text: str | None) -> Any:
    if text in (None, "Z", "UTC", "GMT", "UT"):
        return UTC
    offset = _OFFSET.fullmatch(text or "")
    if offset is None:
        return ZoneInfo(text or "")
    sign, hours, minutes = offset.groups()
    shift = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-shift if sign == "-" else shift)


def _by_value(texts: pa.Array[Any], read: Callable[[str], Any], kind: pa.DataType) -> pa.Array[Any]:
    """What each text is read as; each different one is read once."""
    encoded = texts.dictionary_encode()
    return pa.array([read(text) for text in encoded.dictionary.to_pylist()], kind).take(encoded.indices)


def _lowered(table: pa.Table) -> Chunk:
    names = {name.lower(): name for name in table.column_names if name.lower() in KNOWN}
    return Chunk(
        table.rename_columns([name.lower() if name.lower() in KNOWN else name for name in table.column_names]), names
    )


def set_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    """The table with this column, in the place of the one of that name if there is one."""
    if name not in table.column_names:
        return table.append_column(name, column)
    return table.set_column(table.column_names.index(name), name, column)
