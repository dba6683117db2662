"""The rows of the benchmark of matching, and how one is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any, NamedTuple

from pointsman.bench.engines import Engine, Match


@dataclass(frozen=True, slots=True)
class Row:
    """What one engine took for one stream."""

    engine: str
    patterns: int
    stream: str
    messages: int
    """In one round."""
    nanoseconds: float
    """CPU time a message, the best of several rounds."""
    matches: float
    """A message."""
    matches_per_second: float
    build_seconds: float | None
    """CPU time; None for what is not built."""
    bytes_per_pattern: float | None
    """None for what was not weighed."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self)


class Built(NamedTuple):
    """An engine with what it cost to build."""

    name: str
    engine: Engine
    patterns: int
    seconds: float | None = None
    weight: float | None = None
    """Bytes a pattern."""

    def row(self, stream: str, messages: int, seconds: float, matches: float) -> Row:
        """The row of a stream that took so many seconds."""
        return Row(
            self.name,
            self.patterns,
            stream,
            messages,
            seconds / messages * 1e9,
            matches,
            matches * messages / seconds,
            self.seconds,
            self.weight,
        )


def seconds_of(call: Callable[[], object]) -> float:
    """The CPU time of one call."""
    started = process_time()
    call()
    return process_time() - started


def match_all(match: Match, texts: list[str]) -> None:
    """The work of a round, for an engine that takes one message at a time."""
    for text in texts:
        match(text)
