"""A route as it decides: its texts read, its place known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pointsman.conditions import Condition, FunctionPredicate, Predicate
from pointsman.message import Message
from pointsman.patterns import Pattern
from pointsman.routing.balance import Kind, Weighted
from pointsman.routing.gather import GatherSettings

COMPETING = ("direct", "priority", "content")
"""Strategies whose routes compete within their group: the first that takes a message is the only one."""


class Place(NamedTuple):
    """Where something is written."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A named rule: which messages, by which strategy, where to."""

    name: str
    position: int
    """Its number in the table."""
    pattern: Pattern
    strategy: str
    destinations: tuple[Weighted, ...]
    place: Place
    predicate: Predicate | FunctionPredicate | None = None
    condition: Condition | None = None
    priority: int = 0
    group: str = ""
    balance: Kind | None = None
    key: Callable[[Message], str | None] | None = None
    """Where sticky balancing finds its key."""
    gather: GatherSettings | None = None
    answers: Pattern | None = None
    """The subjects of the answers that are gathered."""
    target: Callable[[Message], str | None] | None = None
    """Where an answer says which destination it is of."""
    enabled: bool = True
    stands_alone: bool = field(init=False)
    """Whether it takes every message that its pattern matches and sends it to all its destinations."""
    names: tuple[str, ...] = field(init=False)
    """Of its destinations."""

    def __post_init__(self) -> None:
        alone = self.strategy == "pattern" and self.predicate is None and self.condition is None
        object.__setattr__(self, "stands_alone", alone)
        object.__setattr__(self, "names", tuple(each.name for each in self.destinations))

    def refuses(self, message: Message) -> str | None:
        """Why the route does not take a message whose subject it matches; None if it does."""
        if self.condition is not None and not self.condition.holds(message.metadata):
            return "its conditions on the metadata do not hold"
        if self.predicate is not None and not self.predicate.holds(message):
            return f"its predicate does not hold: {self.predicate.text}"
        return None

    def takes(self, message: Message) -> bool:
        """Whether its conditions and its predicate hold."""
        return self.refuses(message) is None
