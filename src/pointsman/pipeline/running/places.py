"""Where the destinations of a pipeline are."""

from __future__ import annotations

from pointsman.pipeline.delivering.choosing import Places, Surroundings
from pointsman.pipeline.running.settings import PipelineFile

COMMANDS = "commands"
"""The folder, in that of the pipeline, of what becomes of the commands of sagas."""
QUEUE = "pointsman"


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
        )
    )
