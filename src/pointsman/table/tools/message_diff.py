"""How two tables differ over messages: deliveries gained and lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from pointsman.message import Message
from pointsman.table.decision import Decision
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.replay import Replay

EXAMPLES = 3
Effect = Literal["gained", "lost"]


class Example(NamedTuple):
    """A message that is delivered in another way."""

    line: int | None
    subject: str
    """As delivered."""
    file: str | None = None
    """Where the messages are in several files."""
    id: str | None = None
    """Where they are in no lines."""

    def __str__(self) -> str:
        place = [f"id {self.id}"] if self.line is None else [self.file or "", f"line {self.line}"]
        return f"{self.subject} ({' '.join(part for part in place if part)})"

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``; what is not known is left out."""
        return {name: value for name, value in self._asdict().items() if value is not None}


@dataclass(slots=True)
class Shift:
    """Deliveries of a route to a destination that only one of the tables makes."""

    effect: Effect
    route: str
    destination: str
    count: int = 0
    examples: list[Example] = field(default_factory=list)
    """The first messages."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "effect": self.effect,
            "route": self.route,
            "destination": self.destination,
            "count": self.count,
            "examples": [example.as_dict() for example in self.examples],
        }


@dataclass(slots=True)
class Comparison:
    """What messages get by one table and by another."""

    messages: int = 0
    differing: int = 0
    """How many messages are delivered in another way."""
    kept: int = 0
    """Deliveries that both tables make."""
    refused_before: int = 0
    """Messages that the first table refuses: by their subject, or by who published them."""
    refused_after: int = 0
    _shifts: dict[tuple[Effect, str, str], Shift] = field(default_factory=dict)

    def shift(self, effect: Effect, route: str, destination: str) -> Shift:
        """That of a route and a destination; a new one, if there was none."""
        return self._shifts.setdefault((effect, route, destination), Shift(effect, route, destination))

    @property
    def shifts(self) -> list[Shift]:
        """What was gained and lost, the most first."""
        return sorted(
            self._shifts.values(),
            key=lambda shift: (-shift.count, shift.route, shift.destination, shift.effect == "gained"),
        )

    @property
    def gained(self) -> int:
        """Deliveries that only the second table makes."""
        return sum(shift.count for shift in self._shifts.values() if shift.effect == "gained")

    @property
    def lost(self) -> int:
        """Deliveries that only the first table makes."""
        return sum(shift.count for shift in self._shifts.values() if shift.effect == "lost")

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "messages": self.messages,
            "differing": self.differing,
            "kept": self.kept,
            "gained": self.gained,
            "lost": self.lost,
            "refused_before": self.refused_before,
            "refused_after": self.refused_after,
            "shifts": [shift.as_dict() for shift in self.shifts],
        }


class MessageDiff:
    """Decides each message by both tables and counts what differs; its memory does not grow with the messages."""

    def __init__(self, before: RoutingTable, after: RoutingTable) -> None:
        self._before = Replay(before)
        self._after = Replay(after)
        self.found = Comparison()

    def add(self, message: Message, line: int, principal: str | None = None) -> None:
        """Compares the deliveries of a message; raises what ``RoutingTable.decide`` raises."""
        before, after = (each.decide(message, principal=principal) for each in (self._before, self._after))
        old, new = _deliveries(before), _deliveries(after)
        found = self.found
        found.messages += 1
        found.differing += old != new
        found.kept += (old & new).total()
        found.refused_before += before.refused is not None
        found.refused_after += after.refused is not None
        self._count("lost", old - new, line)
        self._count("gained", new - old, line)

    def _count(self, effect: Effect, deliveries: Counter[tuple[str, str, str]], line: int) -> None:
        for (route, destination, subject), count in deliveries.items():
            shift = self.found.shift(effect, route, destination)
            shift.count += count
            if len(shift.examples) < EXAMPLES:
                shift.examples.append(Example(line, subject))


def _deliveries(decision: Decision) -> Counter[tuple[str, str, str]]:
    return Counter((each.route, each.destination, each.subject) for each in decision.deliveries)
