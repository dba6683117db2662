"""How two tables differ over messages: deliveries gained and lost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from pointsman.message import Message
from pointsman.table.decision import Decision
from pointsman.table.replay import Replay
from pointsman.table.routing_table import RoutingTable

EXAMPLES = 3


@dataclass(slots=True)
class Shift:
    """Deliveries of a route to a destination that only one of the tables makes."""

    effect: Literal["gained", "lost"]
    route: str
    destination: str
    count: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    """The line and the subject of the first messages, the subject as delivered."""

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        examples = [{"line": line, "subject": subject} for line, subject in self.examples]
        return {
            "effect": self.effect,
            "route": self.route,
            "destination": self.destination,
            "count": self.count,
            "examples": examples,
        }


class MessageDiff:
    """Decides each message by both tables and counts what differs; its memory does not grow with the messages."""

    def __init__(self, before: RoutingTable, after: RoutingTable) -> None:
        self._before = Replay(before)
        self._after = Replay(after)
        self._shifts: dict[tuple[Literal["gained", "lost"], str, str], Shift] = {}
        self.messages = 0
        self.differing = 0
        """How many messages are delivered in another way."""

    def add(self, message: Message, line: int) -> None:
        """Compares the deliveries of a message; raises what ``RoutingTable.decide`` raises."""
        old, new = _deliveries(self._before.decide(message)), _deliveries(self._after.decide(message))
        self.messages += 1
        if old == new:
            return
        self.differing += 1
        self._count("lost", old - new, line)
        self._count("gained", new - old, line)

    def _count(self, effect: Literal["gained", "lost"], deliveries: Counter[tuple[str, str, str]], line: int) -> None:
        for (route, destination, subject), count in deliveries.items():
            shift = self._shifts.setdefault((effect, route, destination), Shift(effect, route, destination))
            shift.count += count
            if len(shift.examples) < EXAMPLES:
                shift.examples.append((line, subject))

    @property
    def shifts(self) -> list[Shift]:
        """What was gained and lost, the most first."""
        return sorted(self._shifts.values(), key=lambda shift: -shift.count)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "messages": self.messages,
            "differing": self.differing,
            "shifts": [shift.as_dict() for shift in self.shifts],
        }


def _deliveries(decision: Decision) -> Counter[tuple[str, str, str]]:
    return Counter((each.route, each.destination, each.subject) for each in decision.deliveries)
