"""Rows as files: what a format cannot hold is written as texts, and read back as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
