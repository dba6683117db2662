"""What a micro-batch leaves of the state of balanced routes, worked out from how many choices there were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from pointsman.columns.stretches import COUNTED, choices, stretches, usable, weighted_cycle
from pointsman.routing.balance import Kind, Weighted
from pointsman.routing.balance_state import BalanceState
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State, Value, Working


def moved(table: RoutingTable, state: State, counts: Mapping[str, int]) -> State:
    """The state after each route made so many choices: what ``decide`` leaves after as many messages.

    Routes that the table does not have, or whose balance remembers nothing, change nothing.
    """
    working = Working(state)
    changes: dict[Key, Value | None] = {}
    for route in table.routes:
        count = counts.get(route.name, 0)
        if route.balance in COUNTED and count > 0:
            key = Key("balance", route.name)
            changes[key] = after(route.balance, route.destinations, working.get(key, BalanceState()), count)
    return state.updated(changes)


def settled(table: RoutingTable, state: State, finished: Mapping[tuple[str, str], int]) -> State:
    """The state after so many deliveries by a route to a destination are in flight no more; never counts below 0.

    The destination is the one that was chosen: for a delivery that went to a fallback, the one it went there instead
    of. Only routes of the table that balance by least connections count any. A delivery is finished when it succeeded
    or was given up, and not while it waits to be tried again.
    """
    working = Working(state)
    for route in table.routes:
        if route.balance is not Kind.LEAST_CONNECTIONS:
            continue
        key = Key("balance", route.name)
        before = working.get(key, BalanceState())
        left = ((name, count - finished.get((route.name, name), 0)) for name, count in before.in_flight)
        in_flight = tuple((name, count) for name, count in left if count > 0)
        if in_flight != before.in_flight:
            working.put(key, replace(before, in_flight=in_flight))
    return state.updated(working.changes)


def after(kind: Kind, destinations: Sequence[Weighted], state: BalanceState, count: int) -> BalanceState:
    """The state after so many choices, at least one, by one of the kinds that count.

    Takes no longer than one cycle does, however many they are. Raises ``RoutingError`` as ``choose`` does.
    """
    if kind is Kind.LEAST_CONNECTIONS:
        return _with_more(destinations, state, count)
    if kind is Kind.ROUND_ROBIN:
        count = (count - 1) % max(len(usable(destinations)), 1) + 1
    else:
        count = weighted_cycle(destinations, state).place(count)
    return next(islice(choices(kind, destinations, state), count - 1, None))[1]


def _with_more(destinations: Sequence[Weighted], state: BalanceState, count: int) -> BalanceState:
    in_flight = dict(state.in_flight)
    found = stretches(Kind.LEAST_CONNECTIONS, destinations, state)
    ends = [each.begin for each in found[1:]] + [count]
    for (begin, steps), end in zip(found, ends, strict=True):
        rounds, rest = divmod(max(min(end, count) - begin, 0), len(steps))
        for place, name in enumerate(steps):
            more = rounds + (place < rest)
            if more:
                in_flight[name] = in_flight.get(name, 0) + more
    return replace(state, in_flight=tuple(in_flight.items()))
