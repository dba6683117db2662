"""Rows as files: folders of Parquet, JSON Lines or CSV that are written while the rows come."""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from pointsman.columns.message_files import ON_SPARK
from pointsman.errors import InputError

FLUSH = 16 << 20
"""Bytes of rows that a folder keeps until it writes them."""
MOST_OPEN = 64
"""Files of a folder that are open at the same time."""
OPTIONS = {"parquet": ("compression",), "csv": ("header", "sep", "delimiter"), "json": ()}
"""The formats, and their options."""
CODECS = ("none", "snappy", "gzip", "zstd")
DONE = "_SUCCESS"
ESCAPED = frozenset(map(chr, range(1, 32))) | frozenset("\"#%'*/:=?\\\x7f{[]^")
"""Characters that Hive, and Spark, write as ``%2F`` in the name of a folder."""
CONTROL = r"[\x00-\x1f]"


class Writer(Protocol):
    """One file."""

    def write(self, rows: pa.Table) -> None:
        """Adds rows."""
        ...

    def close(self) -> None:
        """Ends the file."""
        ...


def check_format(form: str, options: Mapping[str, str]) -> None:
    """Raises ``InputError`` (``bad-usage``) for what only Spark writes."""
    if form not in OPTIONS:
        raise InputError("bad-usage", f"the format {form!r} is written by Spark alone; {ON_SPARK}")
    for name in options:
        if name not in OPTIONS[form]:
            raise InputError("bad-usage", f"the option {name!r} of {form} is Spark's; {ON_SPARK}")
    if options.get("compression", "snappy") not in CODECS:
        raise InputError("bad-usage", f"the compression {options['compression']!r} is not available here; {ON_SPARK}")
    if len(separator := options.get("sep", options.get("delimiter", ","))) != 1 or not separator.isascii():
        raise InputError("bad-usage", f"the separator {separator!r} is not one ASCII character; {ON_SPARK}")


class Folder:
    """A folder of files, with a folder in it for each value of the column ``by``.

    Rows are kept until there are ``FLUSH`` bytes of them. Not safe between threads.
    """

    def __init__(self, path: Path, form: str, options: Mapping[str, str], by: str | None = None) -> None:
        self._path, self._form, self._options, self._by = path, form, options, by
        self._kept: list[pa.Table] = []
        self._bytes = 0
        self._open: OrderedDict[str, Writer] = OrderedDict()
        self._parts: dict[str, int] = {}
        self._schema: pa.Schema | None = None
        path.mkdir()

    def add(self, rows: pa.Table) -> None:
        """Adds rows, all of the same columns."""
        self._schema = rows.schema
        if len(rows):
            self._kept.append(rows)
            self._bytes += rows.nbytes
        if self._bytes > FLUSH:
            self._flush()

    def close(self) -> None:
        """Writes what is left. A folder without rows has one file without rows, unless it is to have folders."""
        self._flush()
        if not self._parts and self._by is None and self._schema is not None:
            self._write("", self._schema.empty_table())
        self.abandon()
        (self._path / DONE).touch()

    def abandon(self) -> None:
        """Closes the files."""
        while self._open:
            self._open.popitem()[1].close()

    def _flush(self) -> None:
        if not self._kept:
            return
        rows = pa.concat_tables(self._kept)
        self._kept, self._bytes = [], 0
        if self._by is None:
            self._write("", rows)
            return
        encoded = rows[self._by].combine_chunks().dictionary_encode()
        numbers = encoded.indices.to_numpy(zero_copy_only=False)
        order = np.argsort(numbers, kind="stable")
        edges = np.searchsorted(numbers[order], np.arange(len(encoded.dictionary) + 1))
        rest = rows.drop_columns(self._by)
        for value, (start, end) in zip(encoded.dictionary.to_pylist(), pairwise(edges.tolist()), strict=True):
            self._write(f"{self._by}={escaped(value)}", rest.take(pa.array(order[start:end])))

    def _write(self, name: str, rows: pa.Table) -> None:
        written = rows if self._form == "parquet" else as_texts(rows, self._form)
        writer = self._open.get(name)
        if writer is None:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            writer = self._open[name] = self._opened(name, written.schema)
        self._open.move_to_end(name)
        writer.write(written)

    def _opened(self, name: str, schema: pa.Schema) -> Writer:
        folder = self._path / name
        folder.mkdir(exist_ok=True)
        part = self._parts[name] = self._parts.get(name, -1) + 1
        return _WRITERS[self._form](folder / f"part-{part:05}", schema, self._options)


def escaped(value: str) -> str:
    """A value as part of the name of a folder, as Spark writes it.

    >>> escaped("archive/1")
    'archive%2F1'
    """
    return "".join(f"%{ord(each):02X}" if each in ESCAPED else each for each in value)


# -- formats


class _Parquet:
    def __init__(self, path: Path, schema: pa.Schema, options: Mapping[str, str]) -> None:
        codec = options.get("compression", "snappy")
        ending = ".parquet" if codec == "none" else f".{codec}.parquet"
        self._writer = pq.ParquetWriter(f"{path}{ending}", schema, compression=codec)

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def close(self) -> None:
        self._writer.close()


class _Csv:
    def __init__(self, path: Path, schema: pa.Schema, options: Mapping[str, str]) -> None:
        settings = pyarrow.csv.WriteOptions(
            include_header=options.get("header", "true").lower() == "true",
            delimiter=options.get("sep", options.get("delimiter", ",")),
            quoting_style="needed",
        )
        self._writer = pyarrow.csv.CSVWriter(f"{path}.csv", schema, write_options=settings)

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)

    def close(self) -> None:
        self._writer.close()


class _Json:
    def __init__(self, path: Path, *_: object) -> None:
        self._file = Path(f"{path}.json").open("wb")  # noqa: SIM115  # closed by close

    def write(self, rows: pa.Table) -> None:
        for lines in json_lines(rows).chunks:
            self._file.writelines(
                (pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_buffer(), b"\n")
            )

    def close(self) -> None:
        self._file.close()


_WRITERS: dict[str, Callable[[Path, pa.Schema, Mapping[str, str]], Writer]] = {
    "parquet": _Parquet,
    "csv": _Csv,
    "json": _Json,
}


# -- texts


def as_texts(rows: pa.Table, form: str) -> pa.Table:
    """The rows as JSON and CSV can hold them: a body that is not UTF-8 is in ``body_base64`` instead.

    In CSV, times and fractions are texts, and maps, structs and lists are JSON.
    """
    made: dict[str, Any] = {}
    for field in rows.schema:
        column, kind = rows[field.name], field.type
        if pa.types.is_binary(kind):
            made[field.name], made[f"{field.name}_base64"] = _texts_of_bytes(column)
        elif form == "csv" and pa.types.is_floating(kind):
            made[field.name] = pa.array(
                [None if each is None else repr(each) for each in column.to_pylist()], pa.string()
            )
        elif form == "csv" and (pa.types.is_nested(kind) or pa.types.is_timestamp(kind)):
            made[field.name] = _json_values(column) if pa.types.is_nested(kind) else _times(column)
        else:
            made[field.name] = column
    return pa.table(made)


def json_lines(rows: pa.Table) -> pa.ChunkedArray[Any]:
    """Each row as a JSON object, without what is null."""
    members = []
    for field in rows.schema:
        values = _json_values(rows[field.name])
        members.append(pc.binary_join_element_wise(_encode(field.name).decode() + ":", values, ""))
    if not members or not len(rows):
        return pa.chunked_array([], pa.string())
    joined = pc.binary_join_element_wise(*members, ",", null_handling="skip")
    lines = pc.binary_join_element_wise("{", joined, "}", "")
    return lines if isinstance(lines, pa.ChunkedArray) else pa.chunked_array([lines])


def _json_values(column: Any) -> Any:
    kind = column.type
    if pa.types.is_string(kind):
        return pc.binary_join_element_wise('"', _json_text(column), '"', "")
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind):
        return pc.binary_join_element_wise('"', _times(column), '"', "")
    if pa.types.is_map(kind):
        values = (None if each is None else _encode(dict(each)) for each in column.to_pylist())
    elif pa.types.is_struct(kind):
        values = (None if each is None else _encode(_without_none(each)) for each in column.to_pylist())
    else:
        values = (None if each is None else _encode_any(each) for each in column.to_pylist())
    return pa.array(list(values), pa.binary()).cast(pa.string())


_encode = msgspec.json.Encoder().encode


def _without_none(value: dict[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in value.items() if each is not None}


def _encode_any(value: Any) -> bytes:
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return {"nan": b'"NaN"', "inf": b'"Infinity"', "-inf": b'"-Infinity"'}[str(value)]
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode()


def _json_text(column: Any) -> Any:
    """The texts as they are within the quotation marks of JSON."""
    for plain, written in (("\\", "\\\\"), ('"', '\\"')):
        column = pc.replace_substring(column, plain, written)
    if pc.any(pc.match_substring_regex(column, CONTROL)).as_py():
        for number in range(32):
            character = chr(number)
            column = pc.replace_substring(column, character, json.dumps(character)[1:-1])
    return column


def _times(column: Any) -> Any:
    """Times as texts, to the microsecond, in UTC."""
    ending = "" if column.type.tz is None else "Z"
    exact = column.cast(pa.timestamp("us", column.type.tz))
    return pc.strftime(exact, format=f"%Y-%m-%dT%H:%M:%S{ending}", locale="C")


def _texts_of_bytes(column: Any) -> tuple[Any, Any]:
    """The bytes as texts where they are UTF-8, and as Base64 where they are not."""
    try:
        return column.cast(pa.string()), pa.nulls(len(column), pa.string())
    except pa.ArrowInvalid:
        pass
    texts: list[str | None] = []
    encoded: list[str | None] = []
    for value in column.to_pylist():
        try:
            texts.append(None if value is None else value.decode())
            encoded.append(None)
        except UnicodeDecodeError:
            texts.append(None)
            encoded.append(base64.b64encode(value).decode())
    return pa.array(texts, pa.string()), pa.array(encoded, pa.string())
