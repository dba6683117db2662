"""What became of the messages, sagas and gatherings of the demo, in numbers.

``Followed`` is made twice: from what the pipeline wrote and from what ``RoutingTable.decide`` says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pointsman.routing.saga.machine import Compensate, Complete, SendCommands
from pointsman.table.correlate import SagaMove

QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
ENDINGS = ("finished", "compensated", "timed out", "open")
"""Of a saga: it came to its end; it was undone; it was undone, and a timeout fired on the way; none of these yet."""


class SagaStep(NamedTuple):
    """What happened in a saga at one time."""

    time: float
    event: str | None
    """The subject of the message; None for a timeout."""
    states: tuple[str, ...]
    """The states it entered; none if the event was ignored."""
    commands: tuple[str, ...]
    """The subjects of what it sent."""


class Tale(NamedTuple):
    """A saga from its start."""

    correlation_id: str
    ending: str
    steps: tuple[SagaStep, ...]


@dataclass(frozen=True, slots=True)
class Followed:
    """How many sagas and gatherings ended in which way."""

    sagas: Counter[str] = field(default_factory=Counter)
    """By ending."""
    saga_states: Counter[str] = field(default_factory=Counter)
    """By the state they are in at the end."""
    commands: Counter[str] = field(default_factory=Counter)
    """What sagas sent, by subject."""
    unmoved: Counter[str] = field(default_factory=Counter)
    """Events that moved no saga: ``ignored`` by it, or of an ``unknown`` one."""
    gatherings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By route and what completed them: ``all``, ``quorum`` or ``timeout``; ``open`` if nothing did."""
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Answers that did not count, by route and reason: ``late``, ``duplicate``, ``foreign`` or ``unknown``."""
    tales: tuple[Tale, ...] = ()
    """One saga of each ending that occurred."""


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


class FollowedLog:
    """The steps of every saga and the counts of the gatherings, in the order they are added. Not thread-safe."""

    def __init__(self) -> None:
        self.steps: dict[str, list[SagaStep]] = {}
        self._ended: set[str] = set()
        self._compensated: set[str] = set()
        self.unmoved: Counter[str] = Counter()
        self.gatherings: Counter[tuple[str, str]] = Counter()
        self.dropped: Counter[tuple[str, str]] = Counter()

    def add_move(self, time: float, event: str | None, moved: SagaMove) -> None:
        """Adds what a message with this subject, or a timeout, did to a saga, as ``decide`` says it."""
        if moved.problem is not None:
            self.unmoved["unknown"] += 1
            return
        actions = moved.outcome.actions
        sent = (each.commands for each in actions if isinstance(each, SendCommands | Compensate))
        commands = tuple(command.subject for group in sent for command in group)
        self.add_step(
            moved.correlation_id,
            SagaStep(time, event, moved.outcome.path, commands),
            ended=any(isinstance(each, Complete) for each in actions),
            compensated=any(isinstance(each, Compensate) for each in actions),
        )
        self.unmoved["ignored"] += moved.outcome.ignored is not None

    def add_step(self, correlation_id: str, step: SagaStep, *, ended: bool, compensated: bool) -> None:
        """Adds a step, whether the saga ended with it, and whether it undid anything."""
        self.steps.setdefault(correlation_id, []).append(step)
        if ended:
            self._ended.add(correlation_id)
        if compensated:
            self._compensated.add(correlation_id)

    def result(self) -> Followed:
        """Returns the counts, and of each ending the saga with the most steps; of several, the first by id."""
        endings = {id: self._ending(id) for id in sorted(self.steps)}
        longest: dict[str, str] = {}
        for id, ending in endings.items():
            if ending not in longest or len(self.steps[id]) > len(self.steps[longest[ending]]):
                longest[ending] = id
        states = ([state for step in steps for state in step.states][-1] for steps in self.steps.values())
        return Followed(
            sagas=Counter(endings.values()),
            saga_states=Counter(states),
            commands=Counter(name for steps in self.steps.values() for step in steps for name in step.commands),
            unmoved=+self.unmoved,
            gatherings=+self.gatherings,
            dropped=+self.dropped,
            tales=tuple(
                Tale(longest[each], each, tuple(self.steps[longest[each]])) for each in ENDINGS if each in longest
            ),
        )

    def _ending(self, id: str) -> str:
        if id not in self._ended:
            return "open"
        if id not in self._compensated:
            return "finished"
        return "timed out" if any(step.event is None for step in self.steps[id]) else "compensated"


def followed_of_rows(rows: Iterable[Mapping[str, Any]], subjects: Mapping[str, str]) -> Followed:
    """Returns what the rows of ``pipeline.correlation.follow`` say, in any order.

    ``subjects`` has the subject of each message that moved a saga, by its id.
    """
    log = FollowedLog()
    commands: list[str] = []
    for row in sorted(rows, key=lambda row: (row["correlation_id"], row["time"], row["number"])):
        kind, route, outcome = row["kind"], row["route"], row["outcome"]
        if kind == "command":
            commands.append(row["subject"])
        elif kind == "move" and outcome == "problem":
            log.unmoved["unknown"] += 1
        elif kind == "move":
            cause = row["causation_id"]
            event = None if cause is None else subjects[cause]
            step = SagaStep(row["time"].timestamp(), event, tuple(row["path"] or ()), tuple(commands))
            commands.clear()
            undone = outcome == "compensated"
            log.add_step(row["correlation_id"], step, ended=undone or outcome == "completed", compensated=undone)
            log.unmoved["ignored"] += outcome == "ignored"
        elif kind == "request":
            log.gatherings[route, "open"] += outcome == "asked"
        elif kind == "result":
            log.gatherings[route, outcome] += 1
            log.gatherings[route, "open"] -= 1
        elif outcome != "taken":
            log.dropped[route, "unknown" if outcome == "problem" else outcome] += 1
    return log.result()
