"""The rows of the benchmark of the queue, and what is measured in them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

PUT, POP, POP_ACK = "put", "pop", "pop and ack"
ZIPF, DISTINCT = "Zipf", "distinct"


class Cell(NamedTuple):
    """One thing that is measured for every contender that can do it."""

    operation: str
    batch: int
    """Messages in a transaction."""
    durability: str = "full"
    processes: int = 1
    keys: str = ZIPF

    def __str__(self) -> str:
        keys = "" if self.keys == ZIPF else f", {self.keys} keys"
        processes = "1 process" if self.processes == 1 else f"{self.processes} processes"
        return f"{self.operation} x{self.batch}, {self.durability}, {processes}{keys}"


class AsDict:
    """A row that can be printed as JSON."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # its rows are dataclasses


@dataclass(frozen=True, slots=True)
class Row(AsDict):
    """How fast a contender was in a cell."""

    contender: str
    operation: str
    batch: int
    durability: str
    processes: int
    keys: str
    real_durability: str | None = None
    """What its connections said while they were measured; None if it cannot do this at all."""
    acknowledges: bool = True
    """False if its pop deletes the message, which is then delivered at most once."""
    backlog: int = 0
    """Messages that were there when a round of pops began."""
    messages_per_second: float | None = None
    """Of all processes together, the upper quartile of the rounds; None if it cannot do this."""
    ratio_to_raw: float | None = None
    """To the same inserts written by hand."""
    duplicates: int = 0
    """Messages that were given out twice, though nobody gave them back."""
    problem: str | None = None
    """What went wrong."""

    @property
    def cell(self) -> Cell:
        """What was measured."""
        return Cell(self.operation, self.batch, self.durability, self.processes, self.keys)


@dataclass(frozen=True, slots=True)
class Disk(AsDict):
    """What the files were on."""

    file_system: str
    fdatasync_milliseconds: float
    """The median."""


@dataclass(frozen=True, slots=True)
class GroupRow(AsDict):
    """How many messages a second are on disk when threads put one by one."""

    contender: str
    threads: int
    messages_per_second: float


@dataclass(frozen=True, slots=True)
class PatternRow(AsDict):
    """How long a pop by pattern takes, in milliseconds."""

    how: str
    shape: str
    pattern: str
    stored: int
    pops: int
    found: int
    first: float
    """CPU time of the first pop, which is not counted below."""
    cpu_p50: float
    cpu_p99: float
    cpu_max: float
    wall_p50: float
    wall_p99: float
    wall_max: float


@dataclass(frozen=True, slots=True)
class FanOutRow(AsDict):
    """What a put costs with so many durable subscriptions."""

    keys: str
    subscriptions: int
    matching: int
    microseconds: float
    """CPU time a message, in batches of 100, the best of several rounds."""
    ratio: float
    """To that with as few subscriptions as match."""
