"""What the benchmark of matching must show, judged from its own rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pointsman.bench.match import COMPILED, DICT, LIVE, PAHO, UNCACHED
from pointsman.bench.match_rows import Row

FEW, MANY, MOST = 1_000, 100_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Required:
    """A number that must not be below, or above, a limit."""

    what: str
    measured: float
    limit: float
    at_least: bool
    """Whether the limit is the least that is allowed, or the most."""

    @property
    def held(self) -> bool:
        """Whether it is so."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return asdict(self) | {"held": self.held}


class Missing(Exception):  # noqa: N818 - no error: a quick run leaves sizes out
    """A row was not measured."""


def required(rows: list[Row]) -> list[Required]:
    """What must hold, as far as the rows tell."""
    found = []
    for requirement in REQUIREMENTS:
        try:
            found += list(requirement(Rows(rows)))
        except Missing:
            continue
    return found


class Rows:
    """The rows by what they are about."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = {(row.engine, row.patterns, row.stream): row for row in rows}

    def row(self, engine: str, patterns: int, stream: str) -> Row:
        """One row; raises ``Missing``."""
        try:
            return self._rows[engine, patterns, stream]
        except KeyError:
            raise Missing from None

    def ratio(self, slow: tuple[str, int, str], fast: tuple[str, int, str]) -> float:
        """How many times as long the one takes as the other."""
        return self.row(*slow).nanoseconds / self.row(*fast).nanoseconds


def speed_at_many(rows: Rows) -> Iterator[Required]:
    """Against paho, with a hundred thousand patterns."""
    yield from _speed(rows, MANY, 60, 10)


def speed_at_most(rows: Rows) -> Iterator[Required]:
    """Against paho, with a million."""
    yield from _speed(rows, MOST, 80, 10)


def _speed(rows: Rows, patterns: int, repeated: float, distinct: float) -> Iterator[Required]:
    for stream, limit in (("repeated", repeated), ("distinct", distinct)):
        times = rows.ratio((PAHO, patterns, stream), (COMPILED, patterns, stream))
        yield Required(f"{COMPILED}: times as fast as paho, {patterns:,} patterns, {stream}", times, limit, True)


def growth(rows: Rows) -> Iterator[Required]:
    """A thousand times the patterns do not take a thousand times as long."""
    for stream, limit in (("repeated", 3.0), ("distinct", 8.0)):
        times = rows.ratio((COMPILED, MOST, stream), (COMPILED, FEW, stream))
        yield Required(f"{COMPILED}: times the cost from {FEW:,} to {MOST:,} patterns, {stream}", times, limit, False)


def weight(rows: Rows) -> Iterator[Required]:
    """Bytes."""
    found = rows.row(COMPILED, MOST, "repeated").bytes_per_pattern or 0.0
    yield Required(f"{COMPILED}: bytes a pattern, {MOST:,} patterns", found, 100, False)


def build(rows: Rows) -> Iterator[Required]:
    """Building, against paho."""
    ours, theirs = (rows.row(engine, MOST, "repeated").build_seconds or 0.0 for engine in (COMPILED, PAHO))
    yield Required(f"{COMPILED}: share of paho's time to build, {MOST:,} patterns", ours / theirs, 0.1, False)


def hits(rows: Rows) -> Iterator[Required]:
    """A hit of the cache, against a dict."""
    times = rows.ratio((LIVE, MANY, "hits"), (DICT, MANY, "hits"))
    yield Required(f"{LIVE}: times the cost of a dict and a call, {MANY:,} patterns, hits", times, 3, False)


def misses(rows: Rows) -> Iterator[Required]:
    """Without the cache, against paho."""
    times = rows.ratio((PAHO, MANY, "distinct"), (UNCACHED, MANY, "distinct"))
    yield Required(f"{UNCACHED}: times as fast as paho, {MANY:,} patterns, distinct", times, 2, True)


REQUIREMENTS = (speed_at_many, speed_at_most, growth, weight, build, hits, misses)
