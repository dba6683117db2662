"""Rows as files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOR_READING = ("json", "csv")
"""Formats in which people read, and bodies are texts."""


def save(
    rows: DataFrame,
    form: str,
    options: Mapping[str, Any],
    path: str | None,
    *,
    by: str = "",
    mode: str = "overwrite",
) -> None:
    """Writes rows in a format, in the place of what is there; bodies as texts, where a format is for reading."""
    writer = readable(rows, form).write.mode(mode).format(form)
    for option, value in options.items():
        writer = writer.option(option, value)
    (writer.partitionBy(by) if by else writer).save(path)


def readable(rows: DataFrame, form: str) -> DataFrame:
    """The rows as they are written in a format."""
    from pyspark.sql import functions as sf

    if form in FOR_READING and "body" in rows.columns:
        return rows.withColumn("body", sf.col("body").cast("string"))
    return rows
