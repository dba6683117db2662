"""The part of a table that keeps states by correlation id: its sagas and its scatter-gather routes.

Which routes take a message depends on others only among the strategies that compete, which scatter-gather is none of.
So the part decides the same about its sagas and gatherings as the whole table, and a worker has less to read.
"""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.patterns import Pattern
from pointsman.routing.saga_definition import Edge
from pointsman.table.routing_table import RoutingTable


def part_of(table: RoutingTable, *, sagas: bool = True, gatherings: bool = True) -> RoutingTable:
    """The part as a table of its own.

    Translations and access are left out: they are stages of their own, which come first. Breakers are left out: they
    decide where a request goes, and not who is asked.
    """
    kept = {key: value for key, value in table.plain.items() if key in ("version", "dialect")}
    if sagas:
        kept["sagas"] = table.plain.get("sagas") or {}
    if gatherings:
        routes = table.plain.get("routes") or []
        kept["routes"] = [route for route in routes if route.get("strategy") == "scatter-gather"]
    return RoutingTable.from_plain(kept)


def patterns_of(part: RoutingTable) -> list[Pattern]:
    """The patterns of all messages that may move something, without those that do by naming an event."""
    found = [edge.trigger for edge in _edges(part) if isinstance(edge.trigger, Pattern)]
    found += [route.pattern for route in part.routes if route.enabled]
    found += [route.answers for route in part.routes if route.answers is not None]
    return list(dict.fromkeys(found))


def goes_by_name(part: RoutingTable) -> bool:
    """Whether a saga has an edge that asks for the name of an event."""
    return any(isinstance(edge.trigger, str) for edge in _edges(part))


def _edges(part: RoutingTable) -> Iterator[Edge]:
    for saga in part.sagas.values():
        yield from saga.starts
        for state in saga.states.values():
            yield from state.edges
