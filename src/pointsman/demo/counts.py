"""What became of the messages of the demo, in numbers: how a run is shown, and compared with what it must come to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import NamedTuple

QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
COMPARED = 5
"""Of what differs in one respect, so many are named."""


class Flow(NamedTuple):
    """A way that messages take: from subjects of one first token, through a route, to a destination."""

    family: str
    route: str
    destination: str


class Refusal(NamedTuple):
    """Why messages are delivered to nobody."""

    family: str
    stage: str
    code: str
    reason: str
    """As ``general_reason`` writes it."""


class SagaStep(NamedTuple):
    """What happened in a saga at one time."""

    time: float
    event: str | None
    """The subject of the message; None for a timeout."""
    states: tuple[str, ...]
    """Those it came into; none if the event did nothing."""
    commands: tuple[str, ...]
    compensations: tuple[str, ...]
    """Of the commands, those that undo what was done."""


class Tale(NamedTuple):
    """A saga from its beginning, and how it ended: ``stories.Ending``."""

    correlation_id: str
    ending: str
    steps: tuple[SagaStep, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many messages and deliveries went where, and what became of sagas and gatherings."""

    messages: int
    routed: int
    """Messages with at least one delivery. With those quarantined and those unrouted, these are all."""
    deliveries: Counter[Flow]
    quarantined: Counter[Refusal]
    unrouted: Counter[str] = field(default_factory=Counter)
    """By family: messages that no route takes."""
    sagas: Counter[str] = field(default_factory=Counter)
    """By how they ended: ``stories.Ending``."""
    saga_states: Counter[str] = field(default_factory=Counter)
    """By the state in which they are at the end."""
    commands: Counter[str] = field(default_factory=Counter)
    """What sagas sent, by subject."""
    carried: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries of what sagas sent, by route and destination."""
    unmoved: Counter[str] = field(default_factory=Counter)
    """Events that moved no saga: ``ignored`` by it, or of an ``unknown`` one."""
    gatherings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By route and what completed them: ``all``, ``quorum`` or ``timeout``; ``open`` if nothing has."""
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Answers that did not count, by route and reason: ``late``, ``duplicate``, ``foreign``, or ``unknown``."""
    fallbacks: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Deliveries that a breaker turned aside, by the destination and its fallback."""
    failed: Counter[str] = field(default_factory=Counter)
    """Deliveries that were decided and then failed, by destination."""
    tales: tuple[Tale, ...] = ()
    """One saga of each ending that occurred."""

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

    def differences(
        self,
        other: Counts,
        *,
        without: tuple[str, ...] = ("tales",),
        shared: Collection[str] = (),
        tolerance: int = 0,
    ) -> list[str]:
        """What is not the same in the other, each as a sentence; nothing if all is.

        ``without`` names the fields that are not compared. Routes that are ``shared`` between their destinations are
        compared as a whole, and each destination's share of them to within the ``tolerance``.
        """
        found = []
        for name, destination in sorted({(flow.route, flow.destination) for flow in self.deliveries}):
            mine, its = (each.share(name, destination) for each in (self, other))
            if name in shared and abs(mine - its) > tolerance:
                found.append(f"deliveries, {name} > {destination}: {mine}, and not {its}, to within {tolerance}")
        return [*found, *self.merged(shared).differing(other.merged(shared), frozenset(without))]

    def share(self, route: str, destination: str) -> int:
        """How many deliveries of a route went to a destination."""
        return sum(
            count for flow, count in self.deliveries.items() if (flow.route, flow.destination) == (route, destination)
        )

    def merged(self, routes: Collection[str]) -> Counts:
        """The counts, in which deliveries of these routes do not say where they went."""
        deliveries: Counter[Flow] = Counter()
        for flow, count in self.deliveries.items():
            deliveries[flow._replace(destination="") if flow.route in routes else flow] += count
        return replace(self, deliveries=deliveries)

    def differing(self, other: Counts, without: frozenset[str]) -> Iterator[str]:
        """What is not exactly the same, as sentences."""
        for name in (each.name for each in fields(self) if each.name not in without):
            mine, its = getattr(self, name), getattr(other, name)
            if not isinstance(mine, Counter):
                if mine != its:
                    yield f"{name}: {mine}, not {its}"
                continue
            keys = sorted(key for key in mine.keys() | its.keys() if mine[key] != its[key])
            for key in keys[:COMPARED]:
                what = key if isinstance(key, str) else " > ".join(key)
                yield f"{name}, {what}: {mine[key]}, not {its[key]}"
            if len(keys) > COMPARED:
                yield f"{name}: and {len(keys) - COMPARED} more"

    def _summed(self, name: str) -> Counter[str]:
        summed: Counter[str] = Counter()
        for flow, count in self.deliveries.items():
            summed[getattr(flow, name)] += count
        return summed


def family_of(subject: str | None) -> str:
    """The first token of a subject as it was sent; nothing for one that is missing or begins with a dot."""
    return (subject or "").partition(".")[0]


def general_reason(reason: str) -> str:
    """A reason without the names in it, so that equal reasons can be counted.

    >>> general_reason("there is no principal 'old-till'")
    'there is no principal …'
    """
    return QUOTED.sub("…", reason)
