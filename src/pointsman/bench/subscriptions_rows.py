"""The rows of the benchmark of wildcard subscriptions."""

from __future__ import annotations

from dataclasses import dataclass

from pointsman.bench.queue_rows import AsDict

COLUMNS, SPARK, LIVE = "column form", "resolve on Spark", "live form"
LOOP, JOIN = "loop in Python", "cross join with rlike"


@dataclass(frozen=True, slots=True)
class Row(AsDict):
    """How fast a way was with so many subscriptions."""

    way: str
    subscriptions: int
    messages: int
    matches: int
    seconds: float
    """Of the quickest round: of CPU time in one process, and by the wall clock on two cores for Spark."""
    build_seconds: float | None
    """From the subscriptions in memory to the first message; None for what builds nothing."""
    build_bytes: int | None
    """Of the index; of the process, for the live form. None if it is not known."""
    cpu_seconds: float | None = None
    """For Spark: of the driver, Java and the Python workers, in the round that took the least; None if not known."""
    mode: str = ""
    """How messages meet the index on Spark, and why."""
    update_median: float | None = None
    update_p90: float | None = None
    update_mean: float | None = None
    """For the live form: microseconds of CPU time in which one change is taken up, see ``Updates``."""

    @property
    def messages_per_second(self) -> float:
        """The rate."""
        return self.messages / self.seconds

    @property
    def matches_per_message(self) -> float:
        """Subscriptions that a message reaches."""
        return self.matches / self.messages
