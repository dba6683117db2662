"""Deliveries as files in a folder, in any format of files that Spark has.

A batch is a folder of its own, which takes the place of what an earlier attempt at the same batch has left. A replay
adds to it the deliveries that are not there, by their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pointsman.pipeline.delivering.files import Files
from pointsman.pipeline.delivering.place import Turn, escaped
from pointsman.pipeline.delivering.saving import as_written, save, with_defaults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
    if turn.replay is None or not Files(spark).has_files(path):
        save(rows, form, options, path)
        return
    # Texts without names have their columns by their order alone; of all others the one is enough.
    schema: Any = as_written(rows, form).schema if form == "csv" else "delivery_id string"
    reader = spark.read.format(form).schema(schema)
    for option, value in with_defaults(form, options).items():
        reader = reader.option(option, value)
    there = reader.load(path).select("delivery_id")
    save(rows.join(there, "delivery_id", "left_anti"), form, options, path, mode="append")
