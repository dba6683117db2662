"""Where the deliveries of a destination go, as a pipeline says it."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from pointsman.broker.destinations.options import PathText
from pointsman.table.model import Name, Part

OF_FILES = frozenset({"avro", "csv", "json", "orc", "parquet", "text", "xml"})
"""Formats of Spark that are files in a folder."""
NEED_A_PATH = {"pointsman": "the file of the queue", "table": "the name of the table"}
WITHOUT_PATH = frozenset({"http", "kafka"})


class Sink(Part):
    """Where the deliveries of a destination go, if that is not what its type in the table says."""

    format: Name = "json"
    path: PathText | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Sink:
        what = "the folder" if self.format in OF_FILES else NEED_A_PATH.get(self.format)
        if self.path is None and what is not None:
            raise ValueError(f"the format {self.format!r} needs a 'path': {what}")
        if self.path is not None and self.format in WITHOUT_PATH:
            raise ValueError(f"the format {self.format!r} has no 'path'; it has options")
        return self
