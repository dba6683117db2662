"""What a pipeline's file may say, and where its destinations are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from pointsman.destinations.base import PathText
from pointsman.errors import InputError, TableError
from pointsman.pipeline.destinations.choice import COMMANDS, Destinations
from pointsman.pipeline.destinations.place import Sink
from pointsman.table.loading import document, validation
from pointsman.table.loading.schema import Duration, Name, Part

TriggerName = Literal["once", "available-now", "interval", "real-time"]
SHORTEST_REAL_TIME = 5.0
"""In seconds: Spark has no shorter batches in real time."""


class Source(Part):
    """Where messages come from: any format that Spark can stream, by its name and options."""

    format: Name = "json"
    path: PathText | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    columns: dict[str, str] = Field({}, description="From the fields of a message to the columns that hold them.")


class Trigger(Part):
    """When a batch begins."""

    kind: TriggerName = "available-now"
    every: Duration = 10.0

    @model_validator(mode="after")
    def _is_long_enough(self) -> Trigger:
        if self.kind == "real-time" and self.every < SHORTEST_REAL_TIME:
            raise ValueError(f"a batch in real time lasts {SHORTEST_REAL_TIME:g} seconds or longer")
        return self


class Pipeline(Part):
    """A pipeline: what it reads, by which table it routes, and where it writes."""

    table: PathText
    environment: Name | None = None
    source: Source
    out: PathText = Field("out", description="The folder for everything that has no place of its own.")
    format: Name = Field("json", description="Of what is written there.")
    checkpoint: PathText = "checkpoint"
    trigger: Trigger = Trigger()
    late: Duration = Field(60.0, description="How far a message may be behind the latest before timeouts go by it.")
    principal: Name | None = None
    subscriptions: PathText | None = Field(None, description="A file, or a folder of files, of wildcard subscriptions.")
    destinations: dict[Name, Sink] = Field(default_factory=dict)
    master: str = "local[*]"
    spark: dict[str, Any] = Field({}, description="Further settings of Spark, by their names.")


class PipelineFile:
    """A pipeline, and the folder that its relative paths are relative to."""

    def __init__(self, path: Path, written: Pipeline) -> None:
        self.path = path
        self.written = written

    @classmethod
    def load(cls, path: Path) -> PipelineFile:
        """The pipeline in a file. Raises ``TableError``, with every mistake and its place, and ``InputError``."""
        written, failures = validation.read_shape(document.read_document(path), Pipeline)
        if written is None or failures:
            raise TableError(failures)
        return cls(path, written)

    def at(self, text: str) -> str:
        """A path of the file; one with a scheme, such as ``s3a://``, is left as it is."""
        return text if "://" in text else str(self.path.absolute().parent / text)


QUEUE = "pointsman"
SUBSCRIPTION = "subscription"


def source_of_followers(pipeline: PipelineFile) -> PipelineFile:
    """The pipeline as the second query reads it, which follows sagas: of a queue, by a subscription of its own.

    A subscription of a queue has one reader. Raises ``InputError`` (``bad-usage``) if the source is a queue and names
    none.
    """
    written = pipeline.written
    if written.source.format != QUEUE:
        return pipeline
    options = written.source.options
    if not options.get(SUBSCRIPTION):
        problem = "the table has sagas or gatherings, which are followed by a second query; let the source have"
        raise InputError("bad-usage", f"{problem} 'options: {{subscription: NAME}}'", file=str(pipeline.path))
    own = written.source.model_copy(update={"options": options | {SUBSCRIPTION: f"{options[SUBSCRIPTION]}-follow"}})
    return PipelineFile(pipeline.path, written.model_copy(update={"source": own}))


def out_of(pipeline: PipelineFile, *, following: bool = False) -> str:
    """The folder for everything that has no place of its own; that of the commands of sagas is in it."""
    out = pipeline.at(pipeline.written.out)
    return f"{out}/{COMMANDS}" if following else out


def destinations_of(pipeline: PipelineFile, *, following: bool = False) -> Destinations:
    """The destinations. Raises ``InputError`` (``bad-destination``)."""
    written = pipeline.written
    source = written.source
    queue = source.path or source.options.get("path") if source.format == QUEUE else None
    return Destinations(
        written.destinations,
        out_of(pipeline, following=following),
        written.format,
        pipeline.at,
        None if queue is None else pipeline.at(str(queue)),
        pipeline.at(written.checkpoint),
    )
