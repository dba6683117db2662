"""The types of destinations as data: what each can do, and which options it has.

The page ``docs/destinations.md`` is held to it by a test, and ``make_sink`` goes by it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from pointsman.broker.destinations.file import FileOptions, FileSink
from pointsman.broker.destinations.folder import FolderOptions, FolderSink
from pointsman.broker.destinations.http import HttpOptions, HttpSink
from pointsman.broker.destinations.interface import Sink
from pointsman.broker.destinations.options import NoOptions, Options
from pointsman.broker.destinations.queue import QueueOptions, QueueSink
from pointsman.broker.destinations.subject import SubjectOptions


class Repeated(StrEnum):
    """What a delivery that comes twice leaves at the destination."""

    ONCE = "once"
    """The destination has it once."""
    TWICE = "twice"
    """The destination has it twice, with one delivery id."""
    RECEIVER = "receiver"
    """The receiver is told the delivery id and can tell."""


class DestinationType(NamedTuple):
    """What a type of destination can do."""

    options: type[Options]
    repeated: Repeated
    retries: bool
    """Whether there are failures after which another attempt is made."""
    sink: Callable[[str, Any, Path], Sink] | None
    """Makes the sink of a destination from its name, its options and the folder; None if the broker is the sink."""

    @property
    def option_names(self) -> tuple[str, ...]:
        """The options in the order in which they are documented."""
        return tuple(self.options.model_fields)


def _file(name: str, options: FileOptions, folder: Path) -> Sink:
    return FileSink(name, folder / options.path)


def _folder(name: str, options: FolderOptions, folder: Path) -> Sink:
    return FolderSink(name, folder / options.path)


def _queue(name: str, options: QueueOptions, folder: Path) -> Sink:
    return QueueSink(name, options, folder / options.path)


def _http(name: str, options: HttpOptions, _: Path) -> Sink:
    return HttpSink(name, options)


TYPES: dict[str, DestinationType] = {
    "handler": DestinationType(NoOptions, Repeated.RECEIVER, retries=True, sink=None),
    "subject": DestinationType(SubjectOptions, Repeated.ONCE, retries=False, sink=None),
    "queue": DestinationType(QueueOptions, Repeated.ONCE, retries=True, sink=_queue),
    "file": DestinationType(FileOptions, Repeated.TWICE, retries=True, sink=_file),
    "folder": DestinationType(FolderOptions, Repeated.ONCE, retries=True, sink=_folder),
    "http": DestinationType(HttpOptions, Repeated.RECEIVER, retries=True, sink=_http),
}
