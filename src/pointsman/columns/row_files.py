"""Rows as files: folders of Parquet, JSON Lines or CSV that are written while the rows come."""

from __future__ import annotations

import base64
from collections import OrderedDict
from collections.abc import Mapping
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

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
        self._open: OrderedDict[str, Any] = OrderedDict()
        """Files with ``write`` and ``close``, the one that was written to last at the end."""
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
        if name not in self._open:
            if len(self._open) >= MOST_OPEN:
                self._open.popitem(last=False)[1].close()
            self._open[name] = self._opened(name, written.schema)
        self._open.move_to_end(name)
        self._open[name].write(json_lines(written) if self._form == "json" else written)

    def _opened(self, name: str, schema: pa.Schema) -> Any:
        folder, options = self._path / name, self._options
        folder.mkdir(exist_ok=True)
        part = self._parts[name] = self._parts.get(name, -1) + 1
        path = f"{folder}/part-{part:05}"
        if self._form == "json":
            return Path(f"{path}.json").open("wb")
        if self._form == "csv":
            settings = pyarrow.csv.WriteOptions(
                include_header=options.get("header", "true").lower() == "true",
                delimiter=options.get("sep", options.get("delimiter", ",")),
                quoting_style="needed",
            )
            return pyarrow.csv.CSVWriter(f"{path}.csv", schema, write_options=settings)
        codec = options.get("compression", "snappy")
        ending = ".parquet" if codec == "none" else f".{codec}.parquet"
        return pq.ParquetWriter(f"{path}{ending}", schema, compression=codec)


def escaped(value: str) -> str:
    """A value as part of the name of a folder, as Spark writes it.

    >>> escaped("archive/1")
    'archive%2F1'
    """
    return "".join(f"%{ord(each):02X}" if each in ESCAPED else each for each in value)


# -- texts


def as_texts(rows: pa.Table, form: str) -> pa.Table:
    """The rows as JSON and CSV can hold them: a body that is not UTF-8 is in ``body_base64`` instead.

    Times are texts. In CSV, fractions are texts too, and maps, structs and lists are JSON.
    """
    made: dict[str, Any] = {}
    for field in rows.schema:
        column, kind = rows[field.name], field.type
        if pa.types.is_binary(kind):
            made[field.name], made[f"{field.name}_base64"] = _texts_of_bytes(column)
        elif pa.types.is_timestamp(kind):
            exact = column.cast(pa.timestamp("us", kind.tz))
            ending = "" if kind.tz is None else "Z"
            made[field.name] = pc.strftime(exact, format=f"%Y-%m-%dT%H:%M:%S{ending}", locale="C")
        elif form == "csv" and pa.types.is_floating(kind):
            texts = [None if each is None else repr(each) for each in column.to_pylist()]
            made[field.name] = pa.array(texts, pa.string())
        elif form == "csv" and pa.types.is_nested(kind):
            texts = [None if each is None else _encoder.encode(each).decode() for each in _plain_values(column)]
            made[field.name] = pa.array(texts, pa.string())
        else:
            made[field.name] = column
    return pa.table(made)


def json_lines(rows: pa.Table) -> bytes:
    """Each row as a JSON object in a line of its own, without what is null."""
    names = rows.column_names
    values = zip(*(_plain_values(rows[name]) for name in names), strict=True)
    return _encoder.encode_lines(
        [{name: each for name, each in zip(names, row, strict=True) if each is not None} for row in values]
    )


_encoder = msgspec.json.Encoder()


def _plain_values(column: Any) -> list[Any]:
    """The values as JSON can hold them."""
    values: list[Any] = column.to_pylist()
    if pa.types.is_map(column.type):
        return [None if each is None else dict(each) for each in values]
    if pa.types.is_struct(column.type):
        return [None if each is None else {k: v for k, v in each.items() if v is not None} for each in values]
    if pa.types.is_floating(column.type):
        return [each if each is None or isfinite(each) else NOT_FINITE[str(each)] for each in values]
    return values


NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


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
