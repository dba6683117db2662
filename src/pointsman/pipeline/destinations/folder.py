"""Deliveries as files in a folder, in any file format of Spark, or appended to a format without a path.

What a format cannot hold is written as text, and read back as it was. A batch is a folder of its own; a repeated batch
replaces it, and a replay adds the deliveries that are not in it, by their ids. Rows that are appended (``jdbc``, and
whatever else the user's Spark has) come twice when a batch is repeated after a crash; ``delivery_id`` tells.
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
    """Writes rows, ``as_written`` in a format, with a folder for each value of the columns ``by``."""
    writer = as_written(rows, form).write.mode(mode).format(form).options(**with_defaults(form, options))
    (writer.partitionBy(*by) if by else writer).save(path)


def restore(spark: SparkSession, path: str, form: str, schema: StructType) -> DataFrame:
    """The rows that ``save`` wrote to a path in one of the formats ``RESTORED``, with the columns that they had."""
    from pyspark.sql import functions as sf

    written = as_written(spark.createDataFrame([], schema), form).schema
    options = with_defaults(form, {"multiLine": "true"} if form == "csv" else {})
    read = spark.read.format(form).schema(written).options(**options).load(path)
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
    """The folder of one destination, or, without a path, a format of Spark that rows are appended to."""

    def __init__(self, path: str | None, form: str, options: dict[str, Any]) -> None:
        self._path = path
        self._form = form
        self._options = options

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Writes the batch to its folder, or appends it."""
        if self._path is None:
            save(rows, self._form, self._options, None, mode="append")
        else:
            _write(rows, f"{self._path}/batch={turn.label}", self._form, self._options, turn)
        return None


class OwnFolder:
    """The folder of the pipeline, for all destinations that have none of their own.

    A batch is there when it is written; only replayed deliveries are added.
    """

    def __init__(self, path: str, form: str) -> None:
        self._path = path
        self._form = form

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Adds deliveries to those of one destination."""
        path = f"{self._path}/batch={turn.batch}/outcome=delivered/destination={escaped(turn.name)}"
        _write(rows.drop("destination"), path, self._form, {}, turn)
        return None


def _write(rows: DataFrame, path: str, form: str, options: dict[str, Any], turn: Turn) -> None:
    """Replaces the folder; a replay adds the deliveries that are not in it."""
    spark = rows.sparkSession
    if turn.replay is None or not files_of(spark).has_files(path):
        save(rows, form, options, path)
        return
    # CSV has its columns by their order alone; of other formats, one column can be read.
    schema: Any = as_written(rows, form).schema if form == "csv" else "delivery_id string"
    there = spark.read.format(form).schema(schema).options(**with_defaults(form, options)).load(path)
    save(rows.join(there.select("delivery_id"), "delivery_id", "left_anti"), form, options, path, mode="append")
