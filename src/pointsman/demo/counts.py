"""What became of the messages of the demo, in numbers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pointsman.demo.sagas import Followed

QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


class Flow(NamedTuple):
    """Deliveries of subjects with the same first token, through a route, to a destination."""

    family: str
    route: str
    destination: str


class Refusal(NamedTuple):
    """Why messages were quarantined."""

    family: str
    stage: str
    code: str
    reason: str
    """As ``general_reason`` returns it."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many messages and deliveries went where, and what became of sagas and gatherings."""

    messages: int
    routed: int
    """Messages with at least one delivery; all others are quarantined or unrouted."""
    deliveries: Counter[Flow]
    quarantined: Counter[Refusal]
    unrouted: Counter[str] = field(default_factory=Counter)
    """Messages that no route takes, by the first token of the subject."""
    carried: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries of what sagas sent, by route and destination."""
    fallbacks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries that a breaker sent elsewhere, by the destination and its fallback."""
    failed: Counter[str] = field(default_factory=Counter)
    """Deliveries that failed, by destination."""
    followed: Followed = field(default_factory=Followed)

    @property
    def by_route(self) -> Counter[str]:
        """Deliveries by route."""
        return self._summed("route")

    @property
    def by_destination(self) -> Counter[str]:
        """Deliveries by destination."""
        return self._summed("destination")

    @property
    def adds_up(self) -> bool:
        """Whether every message was routed, quarantined or unrouted, and none of them twice."""
        return self.messages == self.routed + self.quarantined.total() + self.unrouted.total()

    def _summed(self, name: str) -> Counter[str]:
        summed: Counter[str] = Counter()
        for flow, count in self.deliveries.items():
            summed[getattr(flow, name)] += count
        return summed

    def as_data(self) -> dict[str, Any]:
        """Returns the counts as plain data for JSON, sorted by name."""
        followed = self.followed
        return {
            "messages": self.messages,
            "routed": self.routed,
            "unrouted": self.unrouted.total(),
            "quarantined": _rows(self.quarantined, *Refusal._fields, "messages"),
            "deliveries": _rows(self.deliveries, *Flow._fields, "deliveries"),
            "by_route": dict(sorted(self.by_route.items())),
            "by_destination": dict(sorted(self.by_destination.items())),
            "failed": dict(sorted(self.failed.items())),
            "turned_aside": _rows(self.fallbacks, "instead_of", "destination", "deliveries"),
            "sagas": dict(sorted(followed.sagas.items())),
            "commands": dict(sorted(followed.commands.items())),
            "commands_delivered": _rows(self.carried, "route", "destination", "deliveries"),
            "gatherings": _rows(followed.gatherings, "route", "complete_by", "gatherings"),
            "dropped": _rows(followed.dropped, "route", "reason", "answers"),
            "tales": [tale._asdict() | {"steps": [step._asdict() for step in tale.steps]} for tale in followed.tales],
        }


def _rows(counted: Counter[Any], *names: str) -> list[dict[str, Any]]:
    return [dict(zip(names, (*key, count), strict=True)) for key, count in sorted(counted.items())]


def family_of(subject: str | None) -> str:
    """Returns the first token of a subject; nothing if it is missing or starts with a dot."""
    return (subject or "").partition(".")[0]


def general_reason(reason: str) -> str:
    """Returns a reason without the names in it, so that equal reasons can be counted.

    >>> general_reason("there is no principal 'old-till'")
    'there is no principal …'
    """
    return QUOTED.sub("…", reason)
