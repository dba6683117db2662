"""Rows as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TEXTUAL = ("json", "csv", "xml")
"""Formats that hold texts alone."""
CSV = {"header": "true", "escape": '"', "ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
"""What CSV is written with, unless the options say otherwise: nothing is cut off, and columns have their names."""


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


def with_defaults(form: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a format is written and read with."""
    return {**(CSV if form == "csv" else {}), **options}


def as_written(rows: DataFrame, form: str) -> DataFrame:
    """The rows as a format can hold them.

    In ``json``, ``csv`` and ``xml``, which have no binary values, ``body`` is text; one that is not UTF-8 is in
    ``body_base64`` instead. In ``csv``, maps, structs and arrays are JSON.
    """
    from pyspark.sql import functions as sf

    if form not in TEXTUAL:
        return rows
    shown = rows
    for field in rows.schema.fields:
        column = rows[field.name]
        kind = field.dataType.typeName()
        if kind == "binary":
            text = column.cast("string")
            # Spark breaks it into lines, which readers of Base64 refuse.
            encoded = sf.translate(sf.base64(column), "\r\n", "")
            shown = shown.withColumn(f"{field.name}_base64", sf.when(~sf.is_valid_utf8(text), encoded))
            shown = shown.withColumn(field.name, sf.when(sf.is_valid_utf8(text), text))
        elif kind in ("map", "struct", "array") and form == "csv":
            shown = shown.withColumn(field.name, sf.to_json(column))
    return shown
