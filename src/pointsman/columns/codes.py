"""Codes: what becomes of a message by a route, as small numbers that mean the same wherever the table is loaded.

    0 … N-1      a route and one of its destinations, in the order of the table; then ``unrouted`` if the table has it
    N … 2N-1     the same, sent to the fallback because the breaker is open; or waiting if there is no fallback
    2N … 3N-1    the same, as the one delivery that tries a destination again
    the rest     a balanced route that could not choose, one for each

The second and third group exist only if a destination has a breaker.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pointsman.columns.balance import stuck_error
from pointsman.columns.plans import IntArray
from pointsman.columns.subjects import Problem
from pointsman.table.loading.compile import UNROUTED
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable


class Code(NamedTuple):
    """What a code stands for."""

    route: str
    strategy: str
    destination: str | None
    instead_of: str | None = None
    probe: bool = False
    waits: bool = False
    problem: Problem | None = None


class Codes:
    """The codes of a table."""

    def __init__(self, table: RoutingTable, routes: Sequence[Route]) -> None:
        own = [Code(each.name, each.strategy, name) for each in routes for name in each.names]
        self.counts: IntArray = np.array([len(each.names) for each in routes], np.int32)
        """How many destinations each route has."""
        self.starts: npt.NDArray[np.int64] = np.cumsum(self.counts, dtype=np.int64) - self.counts
        """The code of the first destination of each route."""
        self.unrouted: int | None = None
        if table.unrouted is not None:
            self.unrouted = len(own)
            own.append(Code(UNROUTED, UNROUTED, table.unrouted))
        self.size = len(own)
        """The distance from a code to the one for its fallback, and from there to the one for a probe."""
        self.names: list[Code] = list(own)
        """What each code stands for."""
        self.is_guarded = any(each.breaker is not None for each in table.destinations.values())
        if self.is_guarded:
            self.names += [_away(table, code) for code in own]
            self.names += [code._replace(probe=True) for code in own]
        self.stuck: dict[int, int] = {}
        """By the number of a balanced route, the code for a message that it cannot choose a destination for."""
        for number, route in enumerate(routes):
            if route.balance is not None:
                error = stuck_error(route)
                self.stuck[number] = len(self.names)
                problem = Problem("select", error.code, f"nothing is chosen: {error.problem}")
                self.names.append(Code(route.name, route.strategy, None, problem=problem))

    @property
    def asking(self) -> int:
        """The code after all others: a message for which subscriptions are still to be found."""
        return len(self.names)

    def to(self, destination: str) -> IntArray:
        """The plain codes of deliveries to a destination."""
        found = [number for number, code in enumerate(self.names[: self.size]) if code.destination == destination]
        return np.array(found, np.int32)


def _away(table: RoutingTable, code: Code) -> Code:
    """A delivery whose destination has an open breaker."""
    known = table.destinations.get(code.destination or "")
    fallback = None if known is None else known.fallback
    if fallback is None:
        return code._replace(waits=True)
    return code._replace(destination=fallback, instead_of=code.destination)
