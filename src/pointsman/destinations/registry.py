"""The types of destinations as data, and the sink that is made of what a table says of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from pydantic import ValidationError

from pointsman._util.secrets import reveal
from pointsman.destinations.base import NoOptions, Options, Sink
from pointsman.destinations.file import FileOptions, FileSink
from pointsman.destinations.folder import FolderOptions, FolderSink
from pointsman.destinations.http import HttpOptions, HttpSink
from pointsman.destinations.queue import QueueOptions, QueueSink
from pointsman.destinations.subject import SubjectOptions
from pointsman.errors import InputError

if TYPE_CHECKING:
    from pointsman.table.route import Place


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


# -- from what the table says of a destination to the sink that takes its deliveries


Read = TypeVar("Read", bound=Options)


def read_options(name: str, type: str, options: Mapping[str, object], place: Place | None = None) -> Options:  # noqa: A002 (the table calls it so)
    """The options of a destination, checked; ``place`` is where the table has it, for the error.

    Raises ``InputError`` (``bad-destination``) that names the destination, each option that is wrong, and what is
    allowed, for an unknown type, an unknown or missing option, or a value that the option cannot have.
    """
    kind = _kind(name, type, place)
    return checked_options(name, kind.options, options, f"the type {type!r} has", place)


def checked_options(
    name: str, model: type[Read], options: Mapping[str, object], has: str = "it has", place: Place | None = None
) -> Read:
    """The options of a destination by a model of them; ``has`` begins what is said of an unknown one.

    Raises as ``read_options``.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        mistakes = "; ".join(_mistake(has, model, each) for each in error.errors(include_url=False))
        raise _refused(f"destination {name!r}: {mistakes}", place) from None


def make_sink(
    name: str,
    type: str,  # noqa: A002 (the table calls it so)
    options: Mapping[str, object],
    folder: Path,
    place: Place | None = None,
) -> Sink:
    """The sink of a destination, not yet open; relative paths in the options are relative to ``folder``.

    Reads the secrets that the options name, and touches nothing else outside of memory. Raises ``InputError``:
    ``bad-destination`` as ``read_options`` does, and for the types ``handler`` and ``subject``, whose deliveries the
    broker makes itself; ``bad-secret`` for a secret that cannot be read.
    """
    read = read_options(name, type, revealed(name, options, folder, place), place)
    make = TYPES[type].sink
    if make is None:
        raise _refused(f"destination {name!r}: the broker itself delivers to a destination of the type {type!r}", place)
    return make(name, read, folder)


def revealed(name: str, options: Mapping[str, object], folder: Path, place: Place | None) -> Mapping[str, object]:
    """The options with their secrets. Raises ``InputError`` (``bad-secret``)."""
    try:
        made: Mapping[str, object] = reveal(options, folder)
    except InputError as error:
        raise _refused(f"destination {name!r}: {error.problem}", place, error.code) from None
    return made


def _kind(name: str, type_name: str, place: Place | None) -> DestinationType:
    if type_name in TYPES:
        return TYPES[type_name]
    close = get_close_matches(type_name, TYPES, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    problem = f"destination {name!r}: there is no type {type_name!r}; the types are {', '.join(TYPES)}{meant}"
    raise _refused(problem, place)


def _mistake(has: str, model: type[Options], error: Any) -> str:
    names = list(model.model_fields)
    option = ".".join(str(step) for step in error["loc"])
    if error["type"] == "extra_forbidden":
        close = get_close_matches(option, names, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        allowed = f"the options are {', '.join(names)}" if names else "it has none"
        return f"{has} no option {option!r}; {allowed}{meant}"
    if error["type"] == "missing":
        described = model.model_fields[option].description or ""
        return f"option {option!r} is missing: {described[0].lower()}{described[1:].rstrip('.')}"
    problem = error["msg"].removeprefix("Value error, ")
    return f"option {option!r}: {problem[0].lower()}{problem[1:]}"


def _refused(problem: str, place: Place | None, code: str = "bad-destination") -> InputError:
    if place is None:
        return InputError(code, problem)
    return InputError(code, problem, file=place.file, line=place.line, column=place.column)
