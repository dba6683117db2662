"""The choices that a balanced route will make, all of them in a few rows, so that each can be looked up by its number.

Choices are counted from 0. Choice ``number`` is ``steps[(number - begin) % len(steps)]`` of the last stretch that
begins at or before it:

    round-robin         one stretch, of all destinations
    weighted            one stretch, of sum(weights) choices; before it another one that is not repeated, if the order
                        of the destinations was changed in the middle of a cycle
    least-connections   one stretch for each level that requests in flight stand at: the destinations up to that level
                        take turns until they stand at the next

What is chosen comes from ``routing.balance.choose``. For least connections alone it is worked out, because the way to
the level of the busiest may be long; the tests hold it to ``choose``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from pointsman.routing.balance import Kind, Weighted, choose
from pointsman.routing.balance_state import BalanceState

COUNTED = (Kind.ROUND_ROBIN, Kind.WEIGHTED, Kind.LEAST_CONNECTIONS)
"""The kinds whose choice depends on how many were made before."""


class Stretch(NamedTuple):
    """Choices that are made over and over, from a number on."""

    begin: int
    steps: tuple[str, ...]


class Cycle(NamedTuple):
    """Choices up to the moment at which the state is what it was before."""

    choices: tuple[str, ...]
    again: int
    """The number of choices after which the state was the same as it is after all of them."""

    def place(self, count: int) -> int:
        """The smallest number of choices that leaves what so many leave."""
        period = len(self.choices) - self.again
        return count if count < len(self.choices) else self.again + (count - self.again) % period


def stretches(kind: Kind, destinations: Sequence[Weighted], state: BalanceState) -> tuple[Stretch, ...]:
    """The choices from this state on, for one of the kinds ``COUNTED``.

    Raises ``RoutingError`` as ``choose`` does.
    """
    if kind is Kind.LEAST_CONNECTIONS:
        return _levels(destinations, state)
    if kind is Kind.ROUND_ROBIN:
        ahead = islice(choices(kind, destinations, state), max(len(usable(destinations)), 1))
        return (Stretch(0, tuple(name for name, _ in ahead)),)
    cycle = weighted_cycle(destinations, state)
    begin, period = cycle.again, len(cycle.choices) - cycle.again
    while begin and cycle.choices[begin - 1] == cycle.choices[begin - 1 + period]:
        begin -= 1
    repeated = Stretch(begin, cycle.choices[begin : begin + period])
    return (Stretch(0, cycle.choices[:begin]), repeated) if begin else (repeated,)


def choices(kind: Kind, destinations: Sequence[Weighted], state: BalanceState) -> Iterator[tuple[str, BalanceState]]:
    """One choice after the other, without end, each with the state it leaves; for the kinds ``COUNTED``."""
    while True:
        name, state = choose(kind, destinations, state, key=None, random=_no_chance)
        yield name, state


def weighted_cycle(destinations: Sequence[Weighted], state: BalanceState) -> Cycle:
    """The weighted choices from this state until it comes again.

    The state after one choice is compared with, and one further on each time twice as many choices were made: what
    follows from a state depends on it alone, and one that no order of these destinations leads to does not come again.
    """
    ahead = choices(Kind.WEIGHTED, destinations, state)
    name, left = next(ahead)
    made = [name]
    first = mark = left.credits
    at = 1
    while True:
        name, left = next(ahead)
        made.append(name)
        if left.credits in (first, mark):
            return Cycle(tuple(made), 1 if left.credits == first else at)
        if len(made) == 2 * at:
            mark, at = left.credits, len(made)


def usable(destinations: Sequence[Weighted]) -> list[str]:
    """The names of those that can be chosen."""
    return [each.name for each in destinations if each.weight > 0]


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


def _no_chance() -> float:
    return 0.0
