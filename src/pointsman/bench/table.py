"""The routing table: loading a large one, and what a decision costs beside the index's own match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from time import process_time

from pointsman.bench.subjects import patterns, streams
from pointsman.bench.timing import microseconds
from pointsman.conditions import Predicate
from pointsman.message import Message
from pointsman.table.routing_table import RoutingTable

ROUTES = 100_000
MESSAGES = 4_000
LOAD_LIMIT = 10.0
"""Seconds of CPU time that loading so many routes may take."""
DECIDE_LIMIT = 3.0
"""How many times the index's own match a decision may cost."""
PREDICATE = "metadata['region'] = 'EU'"


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement; ``limit`` is None where there is none."""

    what: str
    measured: float
    unit: str
    limit: float | None = None

    def as_dict(self) -> dict[str, str | float | None]:
        """For ``--json``."""
        return asdict(self)


def run(quick: bool) -> list[Row]:
    """Loads a table of the benchmark's patterns and decides about its subjects; ``quick`` takes a tenth of them."""
    count = ROUTES // 10 if quick else ROUTES
    text = _table(count)
    started = process_time()
    table = RoutingTable.parse(text)
    load = process_time() - started
    subjects = streams(20 * MESSAGES).distinct.to_pylist()
    messages = [Message(subject, id="1", time=None) for subject in subjects]
    pieces = [messages[first : first + MESSAGES] for first in range(0, len(messages), MESSAGES)]
    index = table.index
    # The first pieces are seen by both before they are measured; each then gets pieces that nobody has asked for.
    for message in pieces[0] + pieces[1]:
        table.decide(message)
    match = min(_each(lambda message: index.match(message.subject), piece) for piece in pieces[2::2])
    decide = min(_each(table.decide, piece) for piece in pieces[3::2])
    holds = partial(Predicate(PREDICATE).holds, Message("a", metadata={"region": "EU"}))
    return [
        Row(f"loading {count:,} routes", load, "s", LOAD_LIMIT),
        Row("the index's own match", match * 1e9, "ns"),
        Row("a decision", decide * 1e9, "ns"),
        Row("a decision, times the match", decide / match, "", DECIDE_LIMIT),
        Row(f"the predicate {PREDICATE}", microseconds(holds) * 1e3, "ns", 1_000),
    ]


def _table(count: int) -> str:
    routes = (
        f"- {{name: route-{number}, pattern: '{pattern}', destinations: [one]}}"
        for number, pattern in enumerate(patterns(count).to_pylist())
    )
    return "\n".join(["dialect: mqtt", "destinations: {one: }", "routes:", *routes])


def _each(call: Callable[[Message], object], messages: list[Message]) -> float:
    """The CPU time of a call, in seconds."""
    started = process_time()
    for message in messages:
        call(message)
    return (process_time() - started) / len(messages)
