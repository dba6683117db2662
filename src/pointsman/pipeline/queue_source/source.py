"""The class that Spark knows as the format ``pointsman``, and its options."""

# ruff: noqa: N802 (the names are Spark's)

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pyspark.sql.datasource import DataSource

from pointsman.errors import InputError
from pointsman.pipeline.queue_source.reader import QueueReader, QueueStreamReader
from pointsman.pipeline.queue_source.rows import COLUMNS
from pointsman.pipeline.queue_source.writer import QueueStreamWriter, QueueWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

OF_SPARK = frozenset({"checkpointlocation", "queryname", "outputmode", "truncate"})
"""What Spark itself adds to the options of a source or sink."""
LARGEST = 10**18
Number = Annotated[int | None, Field(ge=0, le=LARGEST)]
Count = Annotated[int | None, Field(ge=1, le=LARGEST)]


class QueueSource(DataSource):
    """The durable queue, read and written, in batches and streams; docs/pipeline-queue.md has the options.

    Raises ``InputError`` (``bad-usage``) for invalid options.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "pointsman"

    def schema(self) -> str:
        """The columns that are read."""
        read_options(self.options)
        return COLUMNS

    def reader(self, schema: StructType) -> QueueReader:
        """For ``spark.read``."""
        return QueueReader(read_options(self.options), schema)

    def streamReader(self, schema: StructType) -> QueueStreamReader:
        """For ``spark.readStream``."""
        return QueueStreamReader(read_options(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> QueueWriter:
        """For ``DataFrame.write``."""
        return QueueWriter(read_options(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> QueueStreamWriter:
        """For ``DataFrame.writeStream``."""
        return QueueStreamWriter(read_options(self.options), schema, overwrite)


class Options(BaseModel):
    """The options of one read or write."""

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=str.lower)

    path: str
    """Of the queue's file, absolute."""
    subscription: str | None = None
    """None if none was named; the empty name is the queue itself."""
    pattern: str | None = None
    start: Number = None
    """The number of the first message that is read."""
    end: Number = None
    """The number of the last."""
    maxRows: Count = None  # noqa: N815 - so users write it
    partitions: Count = None
    damaged: Literal["fail", "skip"] = "fail"
    query: str | None = None
    batch: Number = None
    staging: str = ""
    """The folder where tasks leave their files for the driver."""
    dialect: str | None = None
    dedupe: float = Field(3600.0, ge=0, lt=1e9)

    @model_validator(mode="after")
    def _belong_together(self) -> Options:
        if (self.query is None) != (self.batch is None):
            raise ValueError("the options 'query' and 'batch' belong together: one of them is missing")
        return self


def read_options(given: Mapping[str, str]) -> Options:
    """The options. Raises ``InputError`` (``bad-usage``) for one that is missing, unknown or invalid."""
    values = {name.lower(): value for name, value in given.items() if name.lower() not in OF_SPARK}
    path = values.get("path")
    if not path:
        raise InputError("bad-usage", "the option 'path' is missing: the file of the queue")
    if "://" in path or path.startswith("file:"):
        raise InputError("bad-usage", f"the path {path!r} is no path of this machine; the queue is one SQLite file")
    values["path"] = os.path.abspath(path)  # noqa: PTH100, as the queue itself does
    values["staging"] = values.get("staging") or f"{values['path']}-staging"
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        raise InputError("bad-usage", _mistake(error.errors(include_url=False)[0])) from None


def _mistake(error: Any) -> str:
    problem = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return str(problem)
    names = {name.lower(): name for name in Options.model_fields}
    name = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return f"there is no option {name!r}; there are {', '.join(names.values())}"
    return f"the option {names[name]!r} is {error['input']!r}: {problem[0].lower()}{problem[1:]}"
