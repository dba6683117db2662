"""Answers of circuit breakers to a whole batch."""

from __future__ import annotations

from typing import NamedTuple

from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerSettings, BreakerState, Permit
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State, Working


class Answer(NamedTuple):
    """What a breaker says to the deliveries of a batch."""

    first: Permit
    others: Permit
    state: BreakerState
    """What asking leaves, if there is a delivery that asks."""


def answers(table: RoutingTable, state: State, now: float) -> dict[str, Answer]:
    """What the breaker of each destination that has one says now, in seconds."""
    working = Working(state)
    found = {}
    for destination in table.destinations.values():
        if destination.breaker is not None:
            before = working.get(Key("breaker", destination.name), BreakerState())
            found[destination.name] = answer(destination.breaker, before, now)
    return found


def answer(settings: BreakerSettings, before: BreakerState, now: float) -> Answer:
    """What a breaker says to the first delivery of a batch, and to all others."""
    first, after = breaker.ask(settings, before, now)
    others, after = breaker.ask(settings, after, now)
    return Answer(first, others, after)
