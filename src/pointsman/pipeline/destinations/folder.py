"""Deliveries as files in a folder, in any format of files that Spark has, or appended to what has no path.

What a format cannot hold is written as text, and read back as it was. A batch is a folder of its own, which takes the
place of what an earlier attempt at the same batch has left. A replay adds to it the deliveries that are not there, by
their ids. Rows that are appended (``jdbc``, and whatever else the user's Spark has) come again with a batch that is
repeated after a crash; the column ``delivery_id`` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.destinations.place import Turn, escaped
from pointsman.pipeline.spark.files import files_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

TEXTUAL = ("json", "csv", "xml")
"""Formats that hold texts alone."""
RESTORED = ("json", "csv", "parquet", "orc")
"""Formats that rows are read back from as they were."""
TIMES = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""To the microsecond, with the zone if there is one."""
CSV = {"header": "true", "escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
"""What CSV is written with, unless the options say otherwise: nothing is cut off, and columns have their names."""
DEFAULTS: Mapping[str, Mapping[str, str]] = {"csv": {**CSV, **TIMES}, "json": TIMES}


def save(
    rows: DataFrame,
    form: str,
    options: Mapping[str, Any],
    path: str | None,
    *,
    by: Sequence[str] = (),
    mode: str = "overwrite",
) -> None:
    """Writes rows in a format, in the place of what is there, with a folder for each value of the columns ``by``.

    The rows are ``as_written`` in the format.
    """
    writer = as_written(rows, form).write.mode(mode).format(form)
    for option, value in with_defaults(form, options).items():
        writer = writer.option(option, value)
    (writer.partitionBy(*by) if by else writer).save(path)


def restore(spark: SparkSession, path: str, form: str, schema: StructType) -> DataFrame:
    """The rows that ``save`` wrote to a path in one of the formats ``RESTORED``, with the columns that they had."""
    from pyspark.sql import functions as sf

    written = as_written(spark.createDataFrame([], schema), form).schema
    reader = spark.read.format(form).schema(written)
    for option, value in with_defaults(form, {"multiLine": "true"} if form == "csv" else {}).items():
        reader = reader.option(option, value)
    read = reader.load(path)
    if form not in TEXTUAL:
        return read
    columns = []
    for field in schema.fields:
        column = read[field.name]
        kind = field.dataType.typeName()
        if kind == "binary":
            column = sf.coalesce(sf.unbase64(read[f"{field.name}_base64"]), column.cast("binary"))
            if form == "csv":
                # CSV has one way to write both.
                column = sf.coalesce(column, sf.lit(b""))
        elif kind in ("map", "struct", "array") and form == "csv":
            column = sf.from_json(column, field.dataType)  # type: ignore[arg-type]  # any type will do
        columns.append(column.alias(field.name))
    return read.select(*columns)


def with_defaults(form: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a format is written and read with."""
    return {**DEFAULTS.get(form, {}), **options}


def as_written(rows: DataFrame, form: str) -> DataFrame:
    """The rows as a format can hold them.

    In ``json``, ``csv`` and ``xml``, which have no binary values, ``body`` is text; one that is not UTF-8 is in
    ``body_base64`` instead. In ``csv``, maps, structs and arrays are JSON.
    """
    from pyspark.sql import functions as sf

    if form not in TEXTUAL:
        return rows
    columns = []
    for field in rows.schema.fields:
        column = rows[field.name]
        kind = field.dataType.typeName()
        if kind == "binary":
            text = column.cast("string")
            # Spark breaks it into lines, which readers of Base64 refuse.
            encoded = sf.translate(sf.base64(column), "\r\n", "")
            columns.append(sf.when(sf.is_valid_utf8(text), text).alias(field.name))
            columns.append(sf.when(~sf.is_valid_utf8(text), encoded).alias(f"{field.name}_base64"))
        elif kind in ("map", "struct", "array") and form == "csv":
            columns.append(sf.to_json(column).alias(field.name))
        else:
            columns.append(column)
    return rows.select(*columns)


class Folder:
    """The folder of one destination."""

    def __init__(self, path: str, form: str, options: dict[str, Any]) -> None:
        self._path = path
        self._form = form
        self._options = options

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Writes ``batch=N``."""
        _write(rows, f"{self._path}/batch={turn.label}", self._form, self._options, turn)
        return None


class OwnFolder:
    """The folder of the pipeline, for all destinations that have no place of their own.

    A batch is there when it is written; only what is replayed is delivered.
    """

    def __init__(self, path: str, form: str) -> None:
        self._path = path
        self._form = form

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Adds to that of one destination."""
        path = f"{self._path}/batch={turn.batch}/outcome=delivered/destination={escaped(turn.name)}"
        _write(rows.drop("destination"), path, self._form, {}, turn)
        return None


def _write(rows: DataFrame, path: str, form: str, options: dict[str, Any], turn: Turn) -> None:
    spark = rows.sparkSession
    if turn.replay is None or not files_of(spark).has_files(path):
        save(rows, form, options, path)
        return
    # Texts without names have their columns by their order alone; of all others the one is enough.
    schema: Any = as_written(rows, form).schema if form == "csv" else "delivery_id string"
    reader = spark.read.format(form).schema(schema)
    for option, value in with_defaults(form, options).items():
        reader = reader.option(option, value)
    there = reader.load(path).select("delivery_id")
    save(rows.join(there, "delivery_id", "left_anti"), form, options, path, mode="append")


class Appending:
    """A format of Spark with its options."""

    def __init__(self, form: str, options: dict[str, Any]) -> None:
        self._form = form
        self._options = options

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:  # noqa: ARG002, as every place is called
        """Appends them."""
        save(rows, self._form, self._options, None, mode="append")
        return None
