"""Content routing: pattern and predicate; the first route in the table whose predicate holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pointsman.routing.selection import Rejection, Route, Selection

Content = TypeVar("Content")


def select(candidates: Iterable[tuple[Route, Callable[[Content], bool]]], message: Content) -> Selection[Route]:
    """The first in the table whose predicate holds; nothing when none does.

    ``candidates`` are pairs of a route and its predicate, ``holds(message) -> bool``. No predicate is asked after the
    first that holds. Raises what a predicate raises.
    """
    chosen: Route | None = None
    rejected: list[Rejection[Route]] = []
    for route, holds in sorted(candidates, key=lambda pair: pair[0].position):
        if chosen is not None:
            rejected.append(Rejection(route, f"{chosen.name!r} comes first in the table, and its predicate holds"))
        elif holds(message):
            chosen = route
        else:
            rejected.append(Rejection(route, "its predicate does not hold"))
    return Selection(() if chosen is None else (chosen,), tuple(rejected))
