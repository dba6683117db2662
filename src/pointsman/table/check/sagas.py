"""Sagas that can be run and are wrong all the same."""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.routing.saga.lint import (
    ShadowedEdge,
    inescapable_states,
    shadowed_edges,
    unreachable_states,
    untimed_states,
)
from pointsman.table.check.findings import Finding, Places
from pointsman.table.routing_table import RoutingTable

CHECKS = (
    ("saga-unreachable-state", unreachable_states, "nothing leads to the state {0!r} of the saga {1!r}"),
    ("saga-inescapable-state", inescapable_states, "from the state {0!r} of the saga {1!r} no final state is reached"),
    ("saga-untimed-state", untimed_states, "in the state {0!r} the saga {1!r} may wait for ever"),
)


def check_sagas(table: RoutingTable, places: Places) -> Iterator[Finding]:
    """``saga-unreachable-state``, ``saga-inescapable-state``, ``saga-untimed-state`` and ``saga-shadowed-edge``."""
    for name, definition in table.sagas.items():
        for code, states, message in CHECKS:
            for state in states(definition):
                yield Finding(code, message.format(state, name), name, places.find("sagas", name, "states", state))
        for edge in shadowed_edges(definition):
            yield _shadowed(name, edge, places)


def _shadowed(name: str, edge: ShadowedEdge, places: Places) -> Finding:
    where = "starts" if edge.state is None else f"the state {edge.state!r}"
    path = ("starts",) if edge.state is None else ("states", edge.state, "edges")
    problem = (
        f"edge {edge.position + 1} of {where} of the saga {name!r} is never taken: "
        f"edge {edge.earlier + 1} comes first and takes all of its events"
    )
    return Finding("saga-shadowed-edge", problem, name, places.find("sagas", name, *path, edge.position))
