"""From what a table and a pipeline say of a destination to the place that its deliveries go to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from pointsman.broker.destinations import SubjectOptions, read_options
from pointsman.broker.destinations.make import revealed
from pointsman.errors import InputError, PointsmanError
from pointsman.pipeline.delivering.appending import Appending
from pointsman.pipeline.delivering.claims import IN_CHECKPOINT, IN_OUT, Claim, check_apart
from pointsman.pipeline.delivering.folder import Folder, OwnFolder
from pointsman.pipeline.delivering.http import Http, SendingOptions
from pointsman.pipeline.delivering.kafka import Kafka
from pointsman.pipeline.delivering.place import Place, file_name
from pointsman.pipeline.delivering.queue import QueuePlace
from pointsman.pipeline.delivering.saving import RESTORED
from pointsman.pipeline.delivering.sink import Sink
from pointsman.pipeline.delivering.subject import SubjectPlace
from pointsman.pipeline.delivering.table import Table

if TYPE_CHECKING:
    from pointsman.table.routing_table import RoutingTable

IN_OWN_FOLDER = ("handler", "folder", "file")
"""Types of destinations in a table whose deliveries are files in the folder of the pipeline."""
Read = TypeVar("Read", bound=BaseModel)


class Surroundings(NamedTuple):
    """What a pipeline says of all destinations."""

    sinks: Mapping[str, Sink]
    out: str
    form: str
    at: Callable[[str], str]
    """From a path as it is written to the path that it means."""
    queue: str | None = None
    """The file of the queue that the messages come from, if they come from one."""
    checkpoint: str | None = None


class Places:
    """The places of the destinations; one for each name, and one for all that are in the folder of the pipeline."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self.own = OwnFolder(f"{surroundings.out}/routed", surroundings.form)
        self.claims = _claims(surroundings)
        """The folders that are written to."""
        kept = surroundings.checkpoint
        check_apart([*([] if kept is None else [Claim("the checkpoint", kept, IN_CHECKPOINT)]), *self.claims])

    def check(self, table: RoutingTable) -> None:
        """Raises ``InputError`` (``bad-destination``) for the first destination that the pipeline cannot deliver to."""
        for name in names_of(table):
            self.of(name, table)
        for name in self._around.sinks.keys() - names_of(table):
            raise InputError(
                "bad-destination", f"the pipeline says where {name!r} goes, which is no destination of the table"
            )

    def of(self, name: str, table: RoutingTable) -> Place:
        """The place of a destination, with the secrets that its options name.

        Raises ``InputError`` (``bad-destination``, ``bad-secret``) and ``MissingExtraError``.
        """
        known = table.destinations.get(name)
        kind = "handler" if known is None else known.type
        options: dict[str, Any] = {} if known is None else known.options
        place = None if known is None else known.place
        sink = self._around.sinks.get(name)
        if known is not None and (sink is None or sink.format == kind):
            read_options(name, kind, options, place)
        if sink is None:
            if kind in IN_OWN_FOLDER:
                return self._own(name)
            sink = Sink(format="pointsman", path=str(options["path"])) if kind == "queue" else Sink(format=kind)
        given = options if kind == ("queue" if sink.format == "pointsman" else sink.format) else {}
        written = {**given, **sink.options}
        return self._make(name, sink, dict(revealed(name, written, Path(self._around.at(".")), place)))

    def known(self, name: str, table: RoutingTable) -> Place | None:
        """The place of a destination, if it has one that can be used."""
        try:
            return self.of(name, table) if name in names_of(table) else None
        except PointsmanError:
            return None

    def _own(self, name: str) -> Place:
        """The folder of the pipeline; of its own for a format that batches are not written in."""
        form = self._around.form
        if form in RESTORED:
            return self.own
        return Folder(f"{self._around.out}/deliveries/{file_name(name)}", form, {})

    def _make(self, name: str, sink: Sink, options: dict[str, Any]) -> Place:
        around = self._around
        path = None if sink.path is None else around.at(sink.path)
        match sink.format:
            case "http":
                return Http(_read(name, SendingOptions, options), f"{around.out}/sent")
            case "kafka":
                return Kafka(options)
            case "pointsman":
                return _queue(str(path), options)
            case "table":
                return Table(str(sink.path), options)
            case "subject":
                return SubjectPlace(_read(name, SubjectOptions, options).subject, self._source(name, path))
            case _ if path is None:
                return Appending(sink.format, options)
            case _:
                return Folder(path, sink.format, options)

    def _source(self, name: str, path: str | None) -> QueuePlace:
        into = self._around.queue if path is None else path
        if into is None:
            problem = (
                f"destination {name!r} publishes again, and the messages come from no queue that it could publish into;"
                " let 'destinations' of the pipeline have a path for it, the file of a queue"
            )
            raise InputError("bad-destination", problem)
        return QueuePlace(into, {})


def names_of(table: RoutingTable) -> set[str]:
    """All names that a delivery may be for."""
    fallbacks = {each.fallback for each in table.destinations.values() if each.fallback is not None}
    named = {name for route in table.routes for name in route.names}
    return {*table.destinations, *fallbacks, *named, *([] if table.unrouted is None else [table.unrouted])}


def _queue(path: str, options: dict[str, Any]) -> QueuePlace:
    return QueuePlace(path, {name: value for name, value in options.items() if name != "path" and value is not None})


def _read(name: str, model: type[Read], options: dict[str, Any]) -> Read:
    try:
        return model.model_validate(options)
    except ValidationError as error:
        mistakes = "; ".join(_mistake(model, each) for each in error.errors(include_url=False))
        raise InputError("bad-destination", f"destination {name!r}: {mistakes}") from None


def _mistake(model: type[BaseModel], error: Any) -> str:
    option = ".".join(str(step) for step in error["loc"])
    if error["type"] == "extra_forbidden":
        return f"there is no option {option!r}; the options are {', '.join(model.model_fields)}"
    if error["type"] == "missing":
        return f"option {option!r} is missing"
    problem = error["msg"].removeprefix("Value error, ")
    return f"option {option!r}: {problem[0].lower()}{problem[1:]}"


def _claims(around: Surroundings) -> list[Claim]:
    found = [Claim("the folder 'out'", around.out, IN_OUT)]
    for name, sink in around.sinks.items():
        if sink.path is not None and sink.format not in ("pointsman", "table", "subject"):
            found.append(Claim(f"the destination {name!r}", around.at(sink.path)))
    return found
