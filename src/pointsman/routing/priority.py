"""Priority routing: the highest priority first, then the order in the table; the first match only."""

from __future__ import annotations

from collections.abc import Iterable

from pointsman.routing.selection import Rejection, Route, Selection


def select(candidates: Iterable[Route]) -> Selection[Route]:
    """The one that comes first; nothing when there is none."""
    ordered = sorted(candidates, key=lambda each: (-each.priority, each.position))
    return Selection(tuple(ordered[:1]), tuple(Rejection(each, _reason(each, ordered[0])) for each in ordered[1:]))


def _reason(rejected: Route, chosen: Route) -> str:
    if rejected.priority < chosen.priority:
        return f"its priority {rejected.priority} is lower than the {chosen.priority} of {chosen.name!r}"
    return f"{chosen.name!r} has the same priority and comes first in the table"
