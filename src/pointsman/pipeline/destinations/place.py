"""What all kinds of destinations have in common: what a pipeline's file says of one, and the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic import Field, model_validator

from pointsman.destinations.base import SUBJECT_PLACE, PathText
from pointsman.table.loading.schema import Name, Part

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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


REASON = "reason"
ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^" + "".join(map(chr, range(0x20))))
"""The characters that Spark escapes in the names of folders."""
UNDELIVERED = f"delivery_id string, {REASON} string"
"""The columns of what was not delivered."""


class Turn(NamedTuple):
    """One attempt at the deliveries of a destination in a batch."""

    name: str
    """Of the destination."""
    batch: int
    query: str
    """Tells the batches of one query from those of another that has the same numbers."""
    following: bool = False
    """Whether the messages of the batch are the commands of sagas, which have batches of their own."""
    replay: int | None = None
    """How often its deliveries were attempted before, if they are dead letters that are replayed."""

    @property
    def label(self) -> int:
        """The number of the batch where those of messages and of commands lie together: that of commands is negative.

        >>> Turn("a", 0, "q").label, Turn("a", 0, "q", following=True).label
        (0, -1)
        """
        return -1 - self.batch if self.following else self.batch


class Destination(Protocol):
    """Where deliveries go."""

    def deliver(self, rows: DataFrame, turn: Turn) -> DataFrame | None:
        """Makes deliveries; returns those that were not made, as ``UNDELIVERED``, or None if all were.

        The returned frame can be computed any number of times; nothing is delivered by it. A repeated turn leaves
        nothing twice, or leaves it to the receiver to notice, as each kind says. If it raises, no delivery counts as
        made.
        """


def escaped(name: str) -> str:
    """The name of a destination as Spark writes it in the name of a folder, ``destination=NAME``.

    >>> escaped("audit"), escaped("../a b"), escaped("100%=ü")
    ('audit', '..%2Fa b', '100%25%3Dü')
    """
    return "".join(f"%{ord(sign):02X}" if sign in ESCAPED else sign for sign in name)


def file_name(name: str) -> str:
    """The name of a destination as that of a folder: ``escaped``, and none that Spark ignores.

    >>> file_name("audit"), file_name("../a b"), file_name("_x")
    ('audit', '%2E.%2Fa b', '%5Fx')
    """
    text = escaped(name)
    return text if text[0] not in "._" else f"%{ord(text[0]):X}{text[1:]}"


def reason_of(error: Exception) -> str:
    """Why something failed, in one line; for an error of Java, also its first cause."""
    thrown = getattr(error, "java_exception", None)
    if thrown is None:
        return f"{type(error).__name__}: {_line(str(error))}"
    origin, cause = thrown, thrown.getCause()
    while cause is not None and cause != origin:
        origin, cause = cause, cause.getCause()
    said, began = _line(thrown.toString()), _line(origin.toString())
    return said if began in said else f"{said} (from {began})"


def _line(text: str) -> str:
    return next((line.strip()[:500] for line in text.splitlines() if line.strip()), "")


def filled(template: str, subject: Column) -> Column:
    """The template with the subject in each of its places, as ``broker.destinations.options.filled`` makes it."""
    from pyspark.sql import functions as sf

    first, *others = template.split(SUBJECT_PLACE)
    parts = [sf.lit(first), *(part for text in others for part in (subject, sf.lit(text)))]
    return sf.concat(*parts)
