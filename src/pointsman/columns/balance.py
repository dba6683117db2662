"""Balances and breakers over a whole batch: what ``decide`` would come to message by message, from counts alone.

The choices of a balanced route are a few stretches. Choices are counted from 0; choice ``number`` is
``steps[(number - begin) % len(steps)]`` of the last stretch that begins at or before it:

    round-robin         one stretch, of all destinations
    weighted            one stretch, of sum(weights) choices; before it another one that is not repeated, if the order
                        of the destinations was changed in the middle of a cycle
    least-connections   one stretch for each level that requests in flight stand at: the destinations up to that level
                        take turns until they stand at the next

What is chosen comes from ``routing.balance.choose``. For least connections alone it is worked out, because the way to
the level of the busiest may be long; the tests hold it to ``choose``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from pointsman.errors import RoutingError
from pointsman.routing import breaker
from pointsman.routing.balance import Kind, Weighted, choose
from pointsman.routing.balance_state import BalanceState
from pointsman.routing.breaker import BreakerSettings, BreakerState, Permit
from pointsman.routing.sticky import stick
from pointsman.table.route import Route
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State, Value, Working

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

COUNTED = (Kind.ROUND_ROBIN, Kind.WEIGHTED, Kind.LEAST_CONNECTIONS)
"""The kinds whose choice depends on how many were made before."""


class Stretch(NamedTuple):
    """Choices that are made over and over, from a number on."""

    begin: int
    steps: tuple[str, ...]


# -- choices


def places(
    route: Route,
    state: State,
    count: int,
    keys: list[str | None] | None,
    random: np.random.Generator,
    made: int = 0,
    task: int = 0,
) -> npt.NDArray[np.int32]:
    """So many choices from this state on, as places among the destinations; -1 where nothing can be chosen.

    ``keys`` are for sticky routes. For the kinds that count, ``made`` choices were made since the state, and ``task``
    tells tasks that begin with one state apart: each begins a choice later, or their first messages would all go to one
    destination.
    """
    import numpy as np

    if _unusable(route) is not None:
        return np.full(count, -1, np.int32)
    place = {name: at for at, name in enumerate(route.names)}
    names = usable(route.destinations)
    if route.balance is Kind.STICKY:
        known = {key: place[stick(names, key)] for key in set(keys or ()) if key is not None}
        return np.fromiter((-1 if key is None else known[key] for key in keys or ()), np.int32, count)
    if route.balance is None or route.balance is Kind.RANDOM:
        drawn = random.integers(0, len(names), count)
        return np.array([place[name] for name in names], np.int32)[drawn]
    found = stretches(route.balance, route.destinations, _before(Working(state), route))
    # While destinations are brought to one level first, there is nothing to begin later with.
    start = made + (task % len(found[0].steps) if len(found) == 1 else 0)
    numbers = np.arange(start, start + count, dtype=np.int64)
    chosen = np.empty(count, np.int32)
    for begin, steps in found:
        later = numbers >= begin
        chosen[later] = np.array([place[name] for name in steps], np.int32)[(numbers[later] - begin) % len(steps)]
    return chosen


def stuck_error(route: Route) -> RoutingError:
    """Why a balanced route chooses nothing, if it chooses nothing: no usable destination, or else no key."""
    names = ", ".join(usable(route.destinations))
    return _unusable(route) or RoutingError("no-key", f"there is no key to choose one of {names} by")


def stretches(kind: Kind, destinations: Sequence[Weighted], state: BalanceState) -> tuple[Stretch, ...]:
    """The choices from this state on, for one of the kinds ``COUNTED``. Raises ``RoutingError`` as ``choose`` does."""
    if kind is Kind.LEAST_CONNECTIONS:
        return _levels(destinations, state)
    made, _, begin = _cycle(kind, destinations, state)
    period = len(made) - begin
    while begin and made[begin - 1] == made[begin - 1 + period]:
        begin -= 1
    repeated = Stretch(begin, made[begin : begin + period])
    return (Stretch(0, made[:begin]), repeated) if begin else (repeated,)


def choices(kind: Kind, destinations: Sequence[Weighted], state: BalanceState) -> Iterator[tuple[str, BalanceState]]:
    """One choice after the other, without end, each with the state it leaves; for the kinds ``COUNTED``."""
    while True:
        name, state = choose(kind, destinations, state, key=None, random=_no_chance)
        yield name, state


def usable(destinations: Sequence[Weighted]) -> list[str]:
    """The names of those that can be chosen."""
    return [each.name for each in destinations if each.weight > 0]


def _cycle(
    kind: Kind, destinations: Sequence[Weighted], state: BalanceState
) -> tuple[tuple[str, ...], list[BalanceState], int]:
    """The choices until a state comes again, the different states, and after how many choices that one came first."""
    made: list[str] = []
    known: dict[BalanceState, int] = {}
    for name, left in choices(kind, destinations, state):
        made.append(name)
        if left in known:
            break
        known[left] = len(made)
    return tuple(made), list(known), known[left]


def _levels(destinations: Sequence[Weighted], state: BalanceState) -> tuple[Stretch, ...]:
    next(choices(Kind.LEAST_CONNECTIONS, destinations, state))
    in_flight = dict(state.in_flight)
    at = {name: in_flight.get(name, 0) for name in usable(destinations)}
    levels = sorted(set(at.values()))
    found = []
    begin = 0
    for level, following in pairwise([*levels, levels[-1]]):
        steps = tuple(name for name in at if at[name] <= level)
        found.append(Stretch(begin, steps))
        begin += (following - level) * len(steps)
    return tuple(found)


def _unusable(route: Route) -> RoutingError | None:
    try:
        choose(route.balance or Kind.RANDOM, route.destinations, BalanceState(), key="", random=_no_chance)
    except RoutingError as error:
        return error
    return None


def _no_chance() -> float:
    return 0.0


# -- the state afterwards


def moved(table: RoutingTable, state: State, counts: Mapping[str, int]) -> State:
    """The state after each route made so many choices: what ``decide`` leaves after as many messages.

    Routes that the table does not have, or whose balance remembers nothing, change nothing.
    """
    working = Working(state)
    changes: dict[Key, Value | None] = {}
    for route in table.routes:
        count = counts.get(route.name, 0)
        if route.balance in COUNTED and count > 0:
            changes[_key(route)] = after(route.balance, route.destinations, _before(working, route), count)
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
        before = _before(working, route)
        left = ((name, count - finished.get((route.name, name), 0)) for name, count in before.in_flight)
        in_flight = tuple((name, count) for name, count in left if count > 0)
        if in_flight != before.in_flight:
            working.put(_key(route), replace(before, in_flight=in_flight))
    return state.updated(working.changes)


def after(kind: Kind, destinations: Sequence[Weighted], state: BalanceState, count: int) -> BalanceState:
    """The state after so many choices, at least one, by one of the kinds ``COUNTED``.

    Takes no longer than one cycle does, however many they are. Raises ``RoutingError`` as ``choose`` does.
    """
    if kind is Kind.LEAST_CONNECTIONS:
        return _with_more(destinations, state, count)
    made, states, again = _cycle(kind, destinations, state)
    return states[count - 1 if count < again else again - 1 + (count - again) % (len(made) - again)]


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


def _key(route: Route) -> Key:
    return Key("balance", route.name)


def _before(working: Working, route: Route) -> BalanceState:
    return working.get(_key(route), BalanceState())


# -- breakers


class Answer(NamedTuple):
    """What a breaker says to the deliveries of a batch."""

    first: Permit
    others: Permit
    state: BreakerState
    """What asking leaves, if there is a delivery that asks."""


def answers(table: RoutingTable, state: State, now: float) -> dict[str, Answer]:
    """What the breaker of each destination that has one says now, in seconds."""
    working = Working(state)
    return {
        each.name: answer(each.breaker, working.get(Key("breaker", each.name), BreakerState()), now)
        for each in table.destinations.values()
        if each.breaker is not None
    }


def answer(settings: BreakerSettings, before: BreakerState, now: float) -> Answer:
    """What a breaker says to the first delivery of a batch, and to all others."""
    first, left = breaker.ask(settings, before, now)
    others, left = breaker.ask(settings, left, now)
    return Answer(first, others, left)
