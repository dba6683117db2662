"""What the balanced routes of a table will choose, as a small table that deliveries are joined with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pointsman.columns.stretches import COUNTED, Stretch, stretches, usable
from pointsman.errors import RoutingError
from pointsman.routing.balance import Kind, choose
from pointsman.routing.balance_state import BalanceState
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State, Working

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

END_OF_ALL = (1 << 63) - 1
ROUTE, BEGIN, END, STEPS, CODE, REASON = (
    f"pointsman_{name}" for name in ("route", "begin", "end", "steps", "code", "reason")
)


class Row(NamedTuple):
    """What a route chooses from one number up to another; ``steps`` is None where the number does not say it."""

    route: str
    begin: int
    end: int
    steps: tuple[str, ...] | None
    code: str | None = None
    reason: str | None = None
    """Why nothing is chosen, if nothing is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The balanced routes of a table that are enabled, and what they choose from a state on."""

    rows: tuple[Row, ...]
    counted: tuple[Route, ...]
    """Those whose choice depends on how many were made before."""
    random: tuple[str, ...]
    sticky: dict[str, tuple[str, ...]]
    """The destinations of those that go by a key."""

    @classmethod
    def of(cls, table: RoutingTable, state: State) -> Plan:
        """The plan of a table."""
        working = Working(state)
        rows: list[Row] = []
        counted: list[Route] = []
        random: list[str] = []
        sticky: dict[str, tuple[str, ...]] = {}
        for route in table.routes:
            if route.balance is None or not route.enabled:
                continue
            why = _why_nothing(route)
            if why is not None:
                rows.append(Row(route.name, 0, END_OF_ALL, None, why.code, f"nothing is chosen: {why.problem}"))
            if why is None and route.balance in COUNTED:
                counted.append(route)
                before = working.get(Key("balance", route.name), BalanceState())
                rows += _rows(route.name, stretches(route.balance, route.destinations, before))
            elif why is None:
                random.append(route.name)
                rows += _rows(route.name, (Stretch(0, tuple(usable(route.destinations))),))
            elif why.code == "no-key":
                sticky[route.name] = tuple(usable(route.destinations))
        return cls(tuple(rows), tuple(counted), tuple(random), sticky)

    @property
    def names(self) -> list[str]:
        """The names of all balanced routes."""
        return [*dict.fromkeys(row.route for row in self.rows)]

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows; made of Arrow data, which Spark takes into the plan itself, so that no job is needed for them."""
        import pyarrow as pa

        types = (pa.string(), pa.int64(), pa.int64(), pa.list_(pa.string()), pa.string(), pa.string())
        names = (ROUTE, BEGIN, END, STEPS, CODE, REASON)
        columns = zip(names, types, zip(*self.rows, strict=True), strict=True)
        return spark.createDataFrame(pa.table({name: pa.array(values, kind) for name, kind, values in columns}))


def _why_nothing(route: Route) -> RoutingError | None:
    """Why the route chooses nothing for a message without a key; None if it chooses."""
    try:
        choose(route.balance or Kind.RANDOM, route.destinations, BalanceState(), key=None, random=lambda: 0.0)
    except RoutingError as error:
        return error
    return None


def _rows(route: str, found: tuple[Stretch, ...]) -> list[Row]:
    ends = [each.begin for each in found[1:]] + [END_OF_ALL]
    return [Row(route, each.begin, end, each.steps) for each, end in zip(found, ends, strict=True)]
