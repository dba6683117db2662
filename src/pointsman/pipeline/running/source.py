"""The stream of messages that a pipeline reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pointsman.pipeline.formats import stream_messages
from pointsman.pipeline.json_lines import stream_texts
from pointsman.pipeline.problem import with_problems
from pointsman.pipeline.running.settings import PipelineFile
from pointsman.pipeline.spark_errors import spark_errors
from pointsman.text.secret import reveal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


OF_FILES = ("json", "csv", "parquet", "orc", "avro", "text")
BOUNDS = ("maxbytespertrigger", "maxfilespertrigger")
"""Options of file sources that bound a batch; Spark takes one of them, in any case."""
BATCH_BYTES = str(256 << 20)
"""What the files of a batch have together, unless the options say otherwise; at least one file."""
BATCH_ROWS = "100000"
"""How many messages of a queue a batch has at most, unless the options say otherwise."""


def open_source(
    spark: SparkSession,
    pipeline: PipelineFile,
    *,
    placed: bool = False,
    lines: bool = False,
    without: Sequence[str] = (),
) -> DataFrame:
    """The stream. What is no message of its format has a problem, of the stage ``receive``.

    With ``lines``, JSON without further columns is not read yet: the stream has the column ``line`` alone, for
    ``stages.code_lines``. With ``placed`` the messages have their places in it; the files ``without`` are not read. All
    this, and what is raised, is as for ``stream_messages``.
    """
    source = pipeline.written.source
    path = None if source.path is None else pipeline.at(source.path)
    names = {column: field for field, column in source.columns.items()}
    options = reveal(source.options, Path(pipeline.at(".")))
    if source.format in OF_FILES and not any(name.lower() in BOUNDS for name in options):
        options["maxBytesPerTrigger"] = BATCH_BYTES
    if source.format == "pointsman" and not any(name.lower() == "maxrows" for name in options):
        options["maxRows"] = BATCH_ROWS
    if lines and source.format == "json" and "schema" not in options:
        with spark_errors(path or source.format):
            return stream_texts(spark, path, options, without)
    return with_problems(stream_messages(spark, path, source.format, options, names, placed=placed, without=without))
