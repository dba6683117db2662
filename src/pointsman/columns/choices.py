"""Choices of balanced routes over a batch, as ``decide`` would make them message by message."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pointsman.columns.plans import IntArray
from pointsman.columns.stretches import COUNTED, stretches, usable
from pointsman.errors import RoutingError
from pointsman.routing.balance import Kind, choose
from pointsman.routing.balance_state import BalanceState
from pointsman.routing.sticky import stick
from pointsman.table.route import Route
from pointsman.table.state import Key, State, Working


class Choices(NamedTuple):
    """The destinations that a balanced route chooses, by their places among its own; -1 where it cannot choose."""

    places: IntArray
    error: RoutingError | None = None
    """Why it cannot."""


def choices(
    route: Route, state: State, count: int, keys: list[str | None] | None, random: np.random.Generator
) -> Choices:
    """So many choices from this state on, in the order of the messages; ``keys`` are for sticky routes."""
    kind = route.balance or Kind.RANDOM
    try:
        choose(kind, route.destinations, BalanceState(), key="", random=lambda: 0.0)
    except RoutingError as error:
        return Choices(np.full(count, -1, np.int32), error)
    place = {name: at for at, name in enumerate(route.names)}
    names = usable(route.destinations)
    if kind is Kind.RANDOM:
        drawn = random.integers(0, len(names), count)
        return Choices(np.array([place[name] for name in names], np.int32)[drawn])
    if kind is Kind.STICKY:
        known = {key: place[stick(names, key)] for key in set(keys or ()) if key is not None}
        stuck = np.fromiter((-1 if key is None else known[key] for key in keys or ()), np.int32, count)
        return Choices(stuck, RoutingError("no-key", f"there is no key to choose one of {', '.join(names)} by"))
    before = Working(state).get(Key("balance", route.name), BalanceState())
    numbers = np.arange(count, dtype=np.int64)
    chosen = np.empty(count, np.int32)
    for begin, steps in stretches(kind, route.destinations, before):
        later = numbers >= begin
        places = np.array([place[name] for name in steps], np.int32)
        chosen[later] = places[(numbers[later] - begin) % len(steps)]
    return Choices(chosen)


def is_counted(route: Route) -> bool:
    """Whether the choice depends on how many were made before."""
    return route.balance in COUNTED
