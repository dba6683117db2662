"""What came of batches, counted: by the job that writes them, and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.columns import PROBLEM
from pointsman.pipeline.destinations.deliverer import Group
from pointsman.pipeline.stages import CODE, PLACE, TO, Coded
from pointsman.subscriptions.output_adapter import ROUTE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

    from pointsman.columns.codes import Code

NUMBERS = ("messages", "wrong", "unrouted", "elsewhere")


@dataclass(slots=True)
class Totals:
    """What came of messages: of one batch, or of all so far."""

    batches: int = 0
    messages: int = 0
    deliveries: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Those that were made, by route and destination; those of subscriptions together."""
    quarantined: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stage and code."""
    unrouted: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    """Deliveries that became dead letters, by destination."""
    table: str = ""
    commands: Totals | None = None
    """What came of the commands of sagas, which are routed too; None if the table has no sagas."""

    @property
    def dead(self) -> int:
        """How many dead letters there are, of messages and of commands."""
        return self.failed.total() + (0 if self.commands is None else self.commands.dead)

    def add(self, other: Totals) -> None:
        """Adds what came of a batch; commands are counted elsewhere."""
        self.batches += other.batches
        self.messages += other.messages
        self.deliveries.update(other.deliveries)
        self.quarantined.update(other.quarantined)
        self.unrouted += other.unrouted
        self.failed.update(other.failed)
        self.table = other.table

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "batches": self.batches,
            "messages": self.messages,
            "deliveries": {f"{route} -> {name}": count for (route, name), count in sorted(self.deliveries.items())},
            "quarantined": {f"{stage}: {code}": count for (stage, code), count in sorted(self.quarantined.items())},
            "unrouted": self.unrouted,
            "dead": dict(sorted(self.failed.items())),
            "table": self.table,
            **({} if self.commands is None else {"commands": self.commands.as_dict()}),
        }


@dataclass(frozen=True, slots=True)
class Counted:
    """What the job that wrote a batch has counted."""

    messages: int
    wrong: int
    """Messages that something is wrong with."""
    unrouted: int
    by_code: Mapping[int, int]
    names: Sequence[Code]
    destinations: Sequence[str]
    """Those that subscriptions may name."""
    elsewhere: int
    """Deliveries of subscriptions to others than these."""

    @property
    def deliveries(self) -> Counter[tuple[str, str]]:
        """All that were to be made, by route and destination."""
        found: Counter[tuple[str, str]] = Counter()
        for code, count in self.by_code.items():
            if code > len(self.names):
                found[ROUTE, self._subscribed(code)] += count
            elif (name := self.names[code]).destination is not None:
                found[name.route, name.destination] += count
        return found

    @property
    def groups(self) -> list[Group]:
        """Deliveries that are alike."""
        found: Counter[tuple[str, str | None, bool]] = Counter()
        for code, count in self.by_code.items():
            if code > len(self.names):
                found[self._subscribed(code), None, False] += count
            elif (name := self.names[code]).destination is not None:
                found[name.destination, name.instead_of, name.waits] += count
        return [Group(*group, count) for group, count in found.items()]

    @property
    def stuck(self) -> Counter[tuple[str, str]]:
        """Routes that could not choose a destination, by stage and code."""
        found: Counter[tuple[str, str]] = Counter()
        for code, count in self.by_code.items():
            if code < len(self.names) and (problem := self.names[code].problem) is not None:
                found[problem.stage, problem.code] += count
        return found

    @property
    def taken(self) -> Counter[str]:
        """How many choices each route has made."""
        found: Counter[str] = Counter()
        for code, count in self.by_code.items():
            if code < len(self.names) and self.names[code].destination is not None:
                found[self.names[code].route] += count
        return found

    @property
    def chosen(self) -> Counter[tuple[str, str]]:
        """Deliveries by their route and the destination that it chose, before any fallback."""
        found: Counter[tuple[str, str]] = Counter()
        for code, count in self.by_code.items():
            if code < len(self.names) and (name := self.names[code]).destination is not None:
                found[name.route, name.instead_of or name.destination] += count
        return found

    def _subscribed(self, code: int) -> str:
        return self.destinations[code - len(self.names) - 1]


def observe(coded: Coded, rows: DataFrame, destinations: Sequence[str]) -> tuple[DataFrame, Observation]:
    """The coded rows, counted while a job goes through them.

    Codes are counted by a histogram that has room for each of them, which makes it exact: Spark has no aggregate of
    counts by value. Deliveries of subscriptions have codes behind those of the table, by their destination.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as sf

    observation = Observation()
    fine = rows[PROBLEM].isNull()
    asking = coded.codes.asking
    code, size = rows[CODE], max(asking + len(destinations) + 1, 2)
    reaches_nobody = elsewhere = sf.lit(False)
    if destinations:
        names = sf.split(sf.lit("\0".join(destinations)), "\0")
        to = sf.array_position(names, rows[TO]["destination"])
        code = sf.when(code == asking, sf.nullif(sf.lit(asking) + to, sf.lit(asking))).otherwise(code)
        elsewhere = to == 0
        reaches_nobody = (rows[CODE] == asking) & rows[TO].isNull()
    first = rows[PLACE].isNull() | (rows[PLACE] == 0)
    observed = rows.observe(
        observation,
        sf.count_if(first).alias("messages"),
        sf.count_if(~fine).alias("wrong"),
        sf.count_if(fine & (rows[CODE].isNull() | reaches_nobody)).alias("unrouted"),
        sf.count_if(elsewhere).alias("elsewhere"),
        sf.histogram_numeric(code.cast("double"), sf.lit(size)).alias("codes"),
    )
    return observed, observation


def counted(observation: Observation, coded: Coded, destinations: Sequence[str]) -> Counted:
    """What was counted, once the job is done."""
    found = observation.get
    by_code: Counter[int] = Counter()
    for bar in found["codes"] or ():  # the same code may have several, from several partitions
        by_code[round(bar["x"])] += round(bar["y"])
    messages, wrong, unrouted, elsewhere = (int(found[name]) for name in NUMBERS)
    return Counted(messages, wrong, unrouted, by_code, coded.codes.names, destinations, elsewhere)
