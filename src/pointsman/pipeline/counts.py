"""What came of batches, counted: by the job that writes them, and added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pointsman.pipeline.columns import PROBLEM
from pointsman.pipeline.destinations.deliverer import Group
from pointsman.pipeline.stages import CODE, PLACE, TO, Coded
from pointsman.subscriptions.output_adapter import ROUTE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

    from pointsman.columns.codes import Code

Key = TypeVar("Key", bound=Hashable)
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
    elsewhere: int
    """Deliveries of subscriptions to others than ``destinations``."""
    codes: Sequence[tuple[Code, int]]
    """What became of messages, and how often; deliveries of subscriptions have the route ``ROUTE``."""
    destinations: Sequence[str]
    """Those that subscriptions may name."""

    @property
    def deliveries(self) -> Counter[tuple[str, str]]:
        """All that were to be made, by route and destination."""
        return self._sent(lambda code, destination: (code.route, destination))

    @property
    def groups(self) -> list[Group]:
        """Deliveries that are alike."""
        found = self._sent(lambda code, destination: (destination, code.instead_of, code.waits))
        return [Group(*group, count) for group, count in found.items()]

    @property
    def taken(self) -> Counter[str]:
        """How many choices each route has made."""
        return self._sent(lambda code, _: code.route)

    @property
    def chosen(self) -> Counter[tuple[str, str]]:
        """Deliveries by their route and the destination that it chose, before any fallback."""
        return self._sent(lambda code, destination: (code.route, code.instead_of or destination))

    @property
    def stuck(self) -> Counter[tuple[str, str]]:
        """Routes that could not choose a destination, by stage and code."""
        found: Counter[tuple[str, str]] = Counter()
        for code, count in self.codes:
            if code.problem is not None:
                found[code.problem.stage, code.problem.code] += count
        return found

    def _sent(self, key: Callable[[Code, str], Key]) -> Counter[Key]:
        """Deliveries by this key of their code and destination."""
        found: Counter[Key] = Counter()
        for code, count in self.codes:
            if code.destination is not None:
                found[key(code, code.destination)] += count
        return found


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
    from pointsman.columns.codes import Code

    found = observation.get
    # Behind the codes of the table is the one for asking, and behind that those of subscriptions.
    names = [*coded.codes.names, None, *(Code(ROUTE, ROUTE, name) for name in destinations)]
    # The same code may have several bars, from several partitions.
    codes = [(code, round(bar["y"])) for bar in found["codes"] or () if (code := names[round(bar["x"])]) is not None]
    messages, wrong, unrouted, elsewhere = (int(found[name]) for name in NUMBERS)
    return Counted(messages, wrong, unrouted, elsewhere, codes, destinations)
