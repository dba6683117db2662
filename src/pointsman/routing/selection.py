"""What a choice among matched routes is made of, so that every decision can be explained."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, Protocol, TypeVar


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
