"""The rows of the benchmark of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.bench.queue_rows import AsDict

SCAN, ROWS, COLUMN = "scan", "identity mapInArrow, whole rows", "identity Arrow UDF, subject"
RESOLVE, ROUTE, NAIVE = "resolve and explode", "route, five strategies", "join with rlike"
REPEATED, DISTINCT = "repeated", "distinct"
SAGAS, GATHERINGS = "sagas", "gatherings"


@dataclass(frozen=True, slots=True)
class Row(AsDict):
    """How fast a stage was on the messages of a stream."""

    stage: str
    subscriptions: int | None
    """Or routes; None for what knows none."""
    stream: str
    messages: int
    rows_out: int
    seconds: float
    """Of the quickest round, by the wall clock."""
    cpu_seconds: float | None
    """Of the driver, Java and the Python workers in the round that took the least; None where it cannot be read."""

    @property
    def messages_per_second(self) -> float:
        """By the wall clock."""
        return self.messages / self.seconds

    @property
    def rows_per_message(self) -> float:
        """What comes out for a message."""
        return self.rows_out / self.messages


@dataclass(frozen=True, slots=True)
class StreamRow(AsDict):
    """How a stream fared that reads files and writes nowhere."""

    stage: str
    subscriptions: int
    batch: int
    """Messages in a batch."""
    batches: int
    messages_per_second: float
    """Of all batches but the first, from the start of one to the start of the next."""
    median_seconds: float
    """What a batch took, from its trigger to its commit."""
    longest_seconds: float


@dataclass(frozen=True, slots=True)
class StateRow(AsDict):
    """How many correlation ids a second were moved."""

    what: str
    keys: int
    """Correlation ids in a batch."""
    events: int
    """Messages in a batch."""
    buckets: int
    seconds: tuple[float, ...]
    """What each batch took; the first ones have Spark and Python warm up."""
    keys_per_second: float
    """Of the quickest batch after the first."""
    cpu_seconds: float | None
    """Of the batch after the first that took the least; None where it cannot be read."""
