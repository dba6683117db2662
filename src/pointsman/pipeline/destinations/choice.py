"""The destinations of a pipeline, made from its table and its file, and the folders that its runs write batches to.

A folder holds batches of one run, which only that run replaces:

<folder>/_run-IDENTITY    an empty file that says whose batches a folder holds; Spark ignores it
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pointsman.destinations import SubjectOptions, read_options
from pointsman.destinations.registry import checked_options, revealed
from pointsman.errors import InputError, PointsmanError
from pointsman.pipeline.destinations.folder import RESTORED, Folder, OwnFolder
from pointsman.pipeline.destinations.http import Http, SendingOptions
from pointsman.pipeline.destinations.kafka import Kafka
from pointsman.pipeline.destinations.place import Destination, Sink, file_name
from pointsman.pipeline.destinations.queue import QueueDestination, SubjectDestination
from pointsman.pipeline.destinations.table import Table
from pointsman.pipeline.spark.files import Files

if TYPE_CHECKING:
    from pointsman.table.routing_table import RoutingTable

COMMANDS = "commands"
"""The folder of what becomes of the commands of sagas, in the folder of the pipeline and in the checkpoint."""
IN_OUT = ("routed", "deliveries", "dead", "sent", "followed", COMMANDS)
"""What a run writes to in the folder of the pipeline."""
IN_CHECKPOINT = ("route", "follow", "pointsman", "subscriptions", COMMANDS)
BATCH = "batch="
MARK = "_run-"


class Claim(NamedTuple):
    """A folder that a run writes to."""

    name: str
    """As errors call it."""
    path: str
    within: tuple[str, ...] = (BATCH,)
    """What the names of the folders in it begin with that the run replaces and removes."""

    @property
    def place(self) -> PurePosixPath:
        """The folder itself, however its path is spelled."""
        parts = urlsplit(self.path) if "://" in self.path else None
        if parts is None or parts.scheme == "file":
            return PurePosixPath(os.path.realpath(self.path if parts is None else parts.path))
        return PurePosixPath(f"{parts.scheme}://{parts.netloc}", os.path.normpath(f"/{parts.path}").strip("/"))


def check_apart(claims: Iterable[Claim]) -> None:
    """Raises ``InputError`` (``bad-destination``) for a folder that is another one too, or lies in what it replaces."""
    seen = [(claim, claim.place) for claim in claims]
    for (first, one), (second, two) in combinations(seen, 2):
        if _replaces(first, one, two) or _replaces(second, two, one):
            problem = f"{first.name} and {second.name} have one path: each would replace what the other wrote"
            raise InputError("bad-destination", problem, file=second.path)


def _replaces(claim: Claim, place: PurePosixPath, other: PurePosixPath) -> bool:
    """Whether a claim to a place concerns another place: the same one, or one in a folder that it replaces."""
    if not other.is_relative_to(place):
        return False
    below = other.relative_to(place).parts
    return not below or below[0].startswith(claim.within)


def claim_folders(files: Files, claims: Iterable[Claim], identity: str) -> None:
    """Makes folders those of a run; nothing is changed in any of them if one is taken.

    One that cannot be made is left to the deliveries, which will fail as well. Raises ``InputError``
    (``folder-taken``) for one that holds batches of another run.
    """
    mine = MARK + file_name(identity)
    free = []
    for claim in claims:
        names = files.names(claim.path)
        if mine in names:
            continue
        held = [name for name in names if name.startswith(claim.within) and files.names(f"{claim.path}/{name}")]
        if held:
            problem = f"{claim.name} holds {', '.join(held[:3])} of another run, which would be replaced"
            raise InputError("folder-taken", problem, file=claim.path)
        free.append((claim.path, [name for name in names if name.startswith(MARK)]))
    for path, others in free:
        if files.touch(f"{path}/{mine}"):
            for name in others:
                files.remove(f"{path}/{name}")


def owner_of(files: Files, path: str) -> str | None:
    """The identity of the run whose batches a folder holds; None if nothing says so."""
    return next((name.removeprefix(MARK) for name in files.names(path) if name.startswith(MARK)), None)


IN_OWN_FOLDER = ("handler", "folder", "file")
"""Types of destinations in a table whose deliveries are files in the folder of the pipeline."""


@dataclass(frozen=True)
class Destinations:
    """The destinations of a pipeline, by the names in its table.

    Raises ``InputError`` (``bad-destination``) if two folders that are written to are in each other's way.
    """

    sinks: Mapping[str, Sink]
    out: str
    form: str
    at: Callable[[str], str]
    """From a path as it is written to the path that it means."""
    queue: str | None = None
    """The file of the queue that the messages come from, if they come from one."""
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        kept = [] if self.checkpoint is None else [Claim("the checkpoint", self.checkpoint, IN_CHECKPOINT)]
        check_apart([*kept, *self.claims])

    @property
    def claims(self) -> list[Claim]:
        """The folders that are written to."""
        found = [Claim("the folder 'out'", self.out, IN_OUT)]
        for name, sink in self.sinks.items():
            if sink.path is not None and sink.format not in ("pointsman", "table", "subject"):
                found.append(Claim(f"the destination {name!r}", self.at(sink.path)))
        return found

    def check(self, table: RoutingTable) -> None:
        """Raises ``InputError`` (``bad-destination``) for the first destination that the pipeline cannot deliver to."""
        for name in names_of(table):
            self.of(name, table)
        for name in self.sinks.keys() - names_of(table):
            raise InputError(
                "bad-destination", f"the pipeline says where {name!r} goes, which is no destination of the table"
            )

    def of(self, name: str, table: RoutingTable) -> Destination:
        """The destination of this name, with the secrets that its options name.

        Raises ``InputError`` (``bad-destination``, ``bad-secret``) and ``MissingExtraError``.
        """
        known = table.destinations.get(name)
        kind = "handler" if known is None else known.type
        options: dict[str, Any] = {} if known is None else known.options
        place = None if known is None else known.place
        sink = self.sinks.get(name)
        if known is not None and (sink is None or sink.format == kind):
            read_options(name, kind, options, place)
        if sink is None:
            if kind in IN_OWN_FOLDER:
                return self._own(name)
            sink = Sink(format="pointsman", path=str(options["path"])) if kind == "queue" else Sink(format=kind)
        given = options if kind == ("queue" if sink.format == "pointsman" else sink.format) else {}
        written = {**given, **sink.options}
        return self._make(name, sink, dict(revealed(name, written, Path(self.at(".")), place)))

    def known(self, name: str, table: RoutingTable) -> Destination | None:
        """The destination of this name; None if there is none that can be used."""
        try:
            return self.of(name, table) if name in names_of(table) else None
        except PointsmanError:
            return None

    def _own(self, name: str) -> Destination:
        """The folder of the pipeline, or one in it for a format that batches are not written in."""
        if self.form in RESTORED:
            return OwnFolder(f"{self.out}/routed", self.form)
        return Folder(f"{self.out}/deliveries/{file_name(name)}", self.form, {})

    def _make(self, name: str, sink: Sink, options: dict[str, Any]) -> Destination:
        path = None if sink.path is None else self.at(sink.path)
        match sink.format:
            case "http":
                return Http(checked_options(name, SendingOptions, options), f"{self.out}/sent")
            case "kafka":
                return Kafka(options)
            case "pointsman":
                given = {key: value for key, value in options.items() if key != "path" and value is not None}
                return QueueDestination(str(path), given)
            case "table":
                return Table(str(sink.path), options)
            case "subject":
                subject = checked_options(name, SubjectOptions, options).subject
                return SubjectDestination(subject, self._source(name, path))
            case _:
                return Folder(path, sink.format, options)

    def _source(self, name: str, path: str | None) -> QueueDestination:
        into = self.queue if path is None else path
        if into is None:
            problem = (
                f"destination {name!r} publishes again, and the messages come from no queue that it could publish into;"
                " let 'destinations' of the pipeline have a path for it, the file of a queue"
            )
            raise InputError("bad-destination", problem)
        return QueueDestination(into, {})


def names_of(table: RoutingTable) -> set[str]:
    """All names that a delivery may be for."""
    fallbacks = {each.fallback for each in table.destinations.values() if each.fallback is not None}
    named = {name for route in table.routes for name in route.names}
    return {*table.destinations, *fallbacks, *named, *([] if table.unrouted is None else [table.unrouted])}
