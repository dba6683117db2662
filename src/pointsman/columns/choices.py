"""Choices of balanced routes over a batch, as ``decide`` would make them message by message."""

from __future__ import annotations

import numpy as np

from pointsman.columns.plans import IntArray
from pointsman.columns.stretches import COUNTED, stretches, usable
from pointsman.errors import RoutingError
from pointsman.routing.balance import Kind, choose
from pointsman.routing.balance_state import BalanceState
from pointsman.routing.sticky import stick
from pointsman.table.route import Route
from pointsman.table.state import Key, State, Working


def choices(
    route: Route,
    state: State,
    count: int,
    keys: list[str | None] | None,
    random: np.random.Generator,
    made: int = 0,
    task: int = 0,
) -> IntArray:
    """So many choices from this state on, as places among the destinations; -1 where nothing can be chosen.

    ``keys`` are for sticky routes. For the kinds that count, ``made`` choices were made since the state, and ``task``
    tells tasks that begin with one state apart: each begins a choice later, or their first messages would all go to one
    destination.
    """
    kind = route.balance or Kind.RANDOM
    if _unusable(route) is not None:
        return np.full(count, -1, np.int32)
    place = {name: at for at, name in enumerate(route.names)}
    names = usable(route.destinations)
    if kind is Kind.RANDOM:
        drawn = random.integers(0, len(names), count)
        return np.array([place[name] for name in names], np.int32)[drawn]
    if kind is Kind.STICKY:
        known = {key: place[stick(names, key)] for key in set(keys or ()) if key is not None}
        return np.fromiter((-1 if key is None else known[key] for key in keys or ()), np.int32, count)
    before = Working(state).get(Key("balance", route.name), BalanceState())
    found = stretches(kind, route.destinations, before)
    # While destinations are brought to one level first, there is nothing to begin later with.
    start = made + (task % len(found[0].steps) if len(found) == 1 else 0)
    numbers = np.arange(start, start + count, dtype=np.int64)
    chosen = np.empty(count, np.int32)
    for begin, steps in found:
        later = numbers >= begin
        places = np.array([place[name] for name in steps], np.int32)
        chosen[later] = places[(numbers[later] - begin) % len(steps)]
    return chosen


def stuck_error(route: Route) -> RoutingError:
    """Why a balanced route chooses nothing, if it chooses nothing: no usable destination, or else no key."""
    names = ", ".join(usable(route.destinations))
    return _unusable(route) or RoutingError("no-key", f"there is no key to choose one of {names} by")


def _unusable(route: Route) -> RoutingError | None:
    try:
        choose(route.balance or Kind.RANDOM, route.destinations, BalanceState(), key="", random=lambda: 0.0)
    except RoutingError as error:
        return error
    return None


def is_counted(route: Route) -> bool:
    """Whether the choice depends on how many were made before."""
    return route.balance in COUNTED
