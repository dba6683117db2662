"""The strategies: which of the routes whose pattern matched take a message, and why the others do not.

- direct: one exact subject, one route
- pattern: every route that matches
- priority: the highest priority, then the order in the table; the first one only
- content: the first route in the table whose predicate holds
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from pointsman.errors import InputError
from pointsman.patterns.pattern import Pattern


class Candidate(Protocol):
    """A route whose pattern matched."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def priority(self) -> int:
        """The higher, the earlier it is asked where priorities count."""

    @property
    def position(self) -> int:
        """Its place in the table; unique."""


Route = TypeVar("Route", bound=Candidate)
Content = TypeVar("Content")


@dataclass(frozen=True, slots=True)
class Rejection(Generic[Route]):
    """A route that matched and was not chosen, and why."""

    candidate: Route
    reason: str


@dataclass(frozen=True, slots=True)
class Selection(Generic[Route]):
    """The routes chosen and, of the others, why not; together they are the candidates."""

    chosen: tuple[Route, ...]
    rejected: tuple[Rejection[Route], ...] = ()


def in_table_order(candidates: Iterable[Route]) -> list[Route]:
    """The candidates as they stand in the table; an index gives them in no particular order."""
    return sorted(candidates, key=attrgetter("position"))


def check_direct(pattern: Pattern) -> None:
    """Raises ``InputError`` (``not-exact``) for a pattern with a wildcard, which no direct route can have."""
    if not pattern.is_literal:
        raise InputError("not-exact", f"{pattern.text!r} has a wildcard; a direct route has none", text=pattern.text)


def select_direct(candidates: Iterable[Route]) -> Selection[Route]:
    """The first in the table; nothing when there is none."""
    ordered = in_table_order(candidates)
    return Selection(
        tuple(ordered[:1]),
        tuple(
            Rejection(each, f"{ordered[0].name!r} has the same subject and comes first in the table")
            for each in ordered[1:]
        ),
    )


def select_by_priority(candidates: Iterable[Route]) -> Selection[Route]:
    """The one that comes first; nothing when there is none."""
    ordered = sorted(candidates, key=lambda each: (-each.priority, each.position))
    return Selection(tuple(ordered[:1]), tuple(Rejection(each, _reason(each, ordered[0])) for each in ordered[1:]))


def _reason(rejected: Route, chosen: Route) -> str:
    if rejected.priority < chosen.priority:
        return f"its priority {rejected.priority} is lower than the {chosen.priority} of {chosen.name!r}"
    return f"{chosen.name!r} has the same priority and comes first in the table"


def select_by_content(
    candidates: Iterable[tuple[Route, Callable[[Content], bool]]], message: Content
) -> Selection[Route]:
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
