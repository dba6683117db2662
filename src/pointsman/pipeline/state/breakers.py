"""Circuit breakers over a micro-batch: asked once before it, told once after it.

What ``routing.breaker`` answers at the beginning of a batch holds for all of it, because the batch is on its way before
the first result is known:

    closed              all deliveries to the destination
    open                all to its fallback, or waiting if it has none
    the reset is due    the first delivery to the destination, as the one probe; all others as if open

After the batch, ``report`` tells the breaker what became of the deliveries, first that some succeeded, if some did, and
then how many failed. So in a batch as many failures as the threshold open the breaker, wherever between them others
succeeded, and fewer count as failures in a row at its end. With batches of one message nothing differs from ``decide``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pointsman.columns.balance import answer
from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerState, Way
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State, Working

WAITING = "its breaker is open, and it has no fallback"
"""The reason for ``waits``."""


class Outcome(NamedTuple):
    """How many deliveries of a batch to a destination, not counting those it got as a fallback, ended which way."""

    succeeded: int = 0
    failed: int = 0


def report(table: RoutingTable, state: State, outcomes: Mapping[str, Outcome], *, asked: float, now: float) -> State:
    """The state after a batch that began with this state, was asked about at ``asked`` and ended like this at ``now``.

    ``outcomes`` has each destination that deliveries of the batch were for, also if all of them went elsewhere. What is
    said of a destination without a breaker changes nothing. A probe whose batch took longer than the probe time counts
    as failed, as it does in any runtime.
    """
    working = Working(state)
    for name, outcome in outcomes.items():
        destination = table.destinations.get(name)
        if destination is None or destination.breaker is None:
            continue
        key = Key("breaker", name)
        before = working.get(key, BreakerState())
        permit, _, after = answer(destination.breaker, before, asked)
        if permit.way is Way.FALLBACK and destination.fallback is not None:
            # All went to the fallback, of which the breaker is told nothing; what it was asked stays.
            outcome = Outcome()
        if outcome.succeeded:
            after = breaker.succeeded(destination.breaker, after, permit, now)
        for _ in range(min(outcome.failed, destination.breaker.failure_threshold)):
            after = breaker.failed(destination.breaker, after, permit, now)
        if after is not before:
            working.put(key, after)
    return state.updated(working.changes)
