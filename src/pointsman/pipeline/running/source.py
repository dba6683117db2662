"""The stream of messages that a pipeline reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.errors import InputError
from pointsman.pipeline.columns import FIELDS, find
from pointsman.pipeline.problem import with_problem, with_problems
from pointsman.pipeline.running.settings import PipelineFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORRUPT = "pointsman_corrupt"
TEXTS = ("json", "csv")
"""Formats whose files say nothing of the types of their columns."""


def open_source(spark: SparkSession, pipeline: PipelineFile) -> DataFrame:
    """The stream. What is no message of its format has a problem, of the stage ``receive``.

    Raises ``InputError`` (``bad-usage``) when Spark does not know the format, or a column that is named is not there.
    """
    source = pipeline.written.source
    reader = spark.readStream.format(source.format)
    for name, value in source.options.items():
        reader = reader.option(name, value)
    if source.format in TEXTS:
        columns = ", ".join(f"{field} {'string' if field == 'body' else kind}" for field, kind in FIELDS.items())
        reader = reader.schema(f"{columns}, {CORRUPT} string").option("mode", "PERMISSIVE")
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    try:
        stream = reader.load(None if source.path is None else pipeline.at(source.path))
    except Exception as error:
        raise InputError("bad-usage", f"the source cannot be opened: {_first_line(error)}") from error
    return _checked(_renamed(stream, source.columns))


def _renamed(stream: DataFrame, columns: dict[str, str]) -> DataFrame:
    for field, column in columns.items():
        if find(stream, column.lower()) is None:
            raise InputError("bad-usage", f"the source has no column {column!r} for {field!r}")
        stream = stream.withColumnRenamed(column, field)
    return stream


def _checked(stream: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    if CORRUPT not in stream.columns:
        return with_problems(stream)
    reason = sf.concat(sf.lit("it is no message: "), sf.substring(stream[CORRUPT], 1, 200))
    told = with_problem(stream, "receive", "bad-message", reason, stream[CORRUPT].isNotNull())
    return told.drop(CORRUPT)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
