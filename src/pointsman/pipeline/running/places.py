"""Where the destinations of a pipeline are."""

from __future__ import annotations

from pointsman.errors import InputError
from pointsman.pipeline.delivering.choosing import Places, Surroundings
from pointsman.pipeline.delivering.claims import COMMANDS
from pointsman.pipeline.running.settings import PipelineFile

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


def places_of(pipeline: PipelineFile, *, following: bool = False) -> Places:
    """The places of the destinations. Raises ``InputError`` (``bad-destination``)."""
    written = pipeline.written
    source = written.source
    queue = source.path or source.options.get("path") if source.format == QUEUE else None
    return Places(
        Surroundings(
            written.destinations,
            out_of(pipeline, following=following),
            written.format,
            pipeline.at,
            None if queue is None else pipeline.at(str(queue)),
            pipeline.at(written.checkpoint),
        )
    )
