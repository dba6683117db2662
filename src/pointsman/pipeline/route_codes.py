"""The routes of a table as numbers, so that which of them take a message can be worked out on arrays of numbers.

bits 40 to 62   the number of its competition: routes of which one takes a message; 0 if it stands for itself
bits 24 to 39   the number of what it asks of a message; 0 if it asks nothing
bits  0 to 23   its rank: within its competition, the lowest takes the message; otherwise its place in the table
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pointsman.conditions import Predicate
from pointsman.errors import LimitError
from pointsman.pipeline.problem import refuse_functions
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RANK_BITS = 24
ASKED_BITS = 16
MOST_ROUTES = 1 << RANK_BITS
MOST_ASKED = (1 << ASKED_BITS) - 1
COMPETING = ("direct", "priority", "content")
CODE, DESTINATIONS, BALANCED = "pointsman_code", "pointsman_destinations", "pointsman_balanced"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a route asks of a message besides its subject."""

    condition: Any
    predicate: Predicate | None

    @property
    def text(self) -> str:
        """For people."""
        return self.predicate.text if self.predicate is not None else "conditions on the metadata"


@dataclass(frozen=True, slots=True)
class RouteCodes:
    """The codes of the enabled routes of a table."""

    routes: tuple[Route, ...]
    codes: tuple[int, ...]
    """In the order of ``routes``."""
    asked: tuple[Asked, ...]
    """What routes ask, by their numbers from 1."""

    @classmethod
    def of(cls, table: RoutingTable) -> RouteCodes:
        """The codes of a table.

        Raises ``LimitError`` for more routes or predicates than there are numbers for, and ``InputError``
        (``function-on-spark``).
        """
        refuse_functions(table)
        routes = tuple(route for route in table.routes if route.enabled)
        numbers: dict[tuple[str, str], int] = {}
        competitions: dict[tuple[str, str], int] = {}
        asked: list[Asked] = []
        codes = []
        for rank, route in enumerate(sorted(routes, key=_precedence)):
            number = _number(route, numbers, asked)
            key = (route.strategy, route.group)
            competition = competitions.setdefault(key, len(competitions) + 1) if route.strategy in COMPETING else 0
            codes.append((route.position, competition << (RANK_BITS + ASKED_BITS) | number << RANK_BITS | rank))
        if len(routes) > MOST_ROUTES or len(asked) > MOST_ASKED:
            problem = f"{len(routes):,} routes with {len(asked):,} predicates are more than {MOST_ROUTES:,} and "
            raise LimitError("too-many-routes", f"{problem}{MOST_ASKED:,}")
        return cls(routes, tuple(code for _, code in sorted(codes)), tuple(asked))

    def frame(self, spark: SparkSession) -> DataFrame:
        """A small DataFrame to join with: what is to be known of the route of each code.

        Made of Arrow data, which Spark takes into the plan itself, so that no job is needed for it.
        """
        import pyarrow as pa

        columns = {
            CODE: pa.array(self.codes, pa.int64()),
            "route": pa.array([route.name for route in self.routes], pa.string()),
            "strategy": pa.array([route.strategy for route in self.routes], pa.string()),
            DESTINATIONS: pa.array([[*route.names] for route in self.routes], pa.list_(pa.string())),
            BALANCED: pa.array([route.balance is not None for route in self.routes], pa.bool_()),
        }
        return spark.createDataFrame(pa.table(columns))


def _precedence(route: Route) -> tuple[int, int]:
    """The order in which routes that compete are preferred; that of the table for all others."""
    return (-route.priority if route.strategy == "priority" else 0, route.position)


def _number(route: Route, numbers: dict[tuple[str, str], int], asked: list[Asked]) -> int:
    if route.condition is None and route.predicate is None:
        return 0
    key = (repr(route.condition), "" if route.predicate is None else route.predicate.text)
    if key not in numbers:
        asked.append(Asked(route.condition, cast("Predicate | None", route.predicate)))
        numbers[key] = len(asked)
    return numbers[key]
