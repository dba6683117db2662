"""The check of the demo: ``RoutingTable.decide`` is asked about a sample of the messages, one after the other."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

from pointsman.columns.balance import COUNTED
from pointsman.demo.counts import Counts, Followed, FollowedLog
from pointsman.demo.folder import AWAY
from pointsman.demo.written import UNROUTED, Outcome, Written, delivered, refused
from pointsman.errors import MessageError, SubjectError
from pointsman.message import Message
from pointsman.patterns.subject import Subject
from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerSettings, BreakerState, Permit
from pointsman.routing.gather import GatherState
from pointsman.table.correlate import SagaMove
from pointsman.table.decision import Decision
from pointsman.table.loading.document import without_collector
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Changes, Key, Value
from pointsman.table.tools.messages_file import Received, read_received

SAMPLE = 15_000
"""How many messages without a correlation id are compared, at least, if there are as many."""
NAMED = 5
"""How many disagreements are described."""


class Checked(NamedTuple):
    """How far the pipeline and ``decide`` agree."""

    compared: int
    """Messages."""
    disagreed: int
    """Messages whose outcome is not the same."""
    differences: list[str]
    """Some of them, and every count of messages, sagas and gatherings that is not the same; each as a sentence."""


def check(files: Sequence[Path], table: RoutingTable, written: Written, counts: Counts) -> Checked:
    """Compares what the pipeline wrote with what ``decide`` says about a sample of the same messages.

    Compared are the deliveries of each message, or why it is quarantined, and everything that sagas and gatherings did.
    The number of messages is compared for all of them, in the sample or not.
    Each file is one batch.
    """
    run = SampleRun(table)
    with without_collector():
        every = max(1, counts.messages // SAMPLE)
        for file in files:
            for received in sample(file, every):
                run.add(received)
            run.end_batch()
        found = written.outcomes(set(run.outcomes), run.shared)
    wrong = [key for key, outcome in run.outcomes.items() if outcome != found.get(key)]
    named = [
        f"{key}: decide says {_text(run.outcomes[key])}; the pipeline wrote {_text(found.get(key))}"
        for key in wrong[:NAMED]
    ]
    lines = sum(file.read_bytes().count(b"\n") for file in files)
    lost = [] if lines == counts.messages else [f"messages: {lines} were made; the pipeline wrote {counts.messages}"]
    followed = differences(run.log.result(), counts.followed)
    return Checked(len(run.outcomes), len(wrong), [*named, *lost, *followed])


class NoMessage(NamedTuple):
    """A line that is no message."""

    text: str
    error: MessageError


def sample(file: Path, every: int) -> Iterator[Received | NoMessage]:
    """Yields every message with a correlation id, and every n-th of the other lines.

    Sagas and gatherings are followed by correlation ids, and need every message of theirs.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines):
            if number % every == 0 or b'"correlation_id":' in line:
                text = line.rstrip(b"\n")
                try:
                    yield read_received(text, None)
                except MessageError as error:
                    yield NoMessage(text.decode(), error)


def differences(decided: Followed, found: Followed) -> list[str]:
    """Returns a sentence for each count of sagas and gatherings that is not the same."""
    return [
        f"{each.name}: decide says {getattr(decided, each.name)}; the pipeline wrote {getattr(found, each.name)}"
        for each in fields(decided)
        if getattr(decided, each.name) != getattr(found, each.name)
    ]


class SampleRun:
    """A table that decides about messages in the order of their times. Not thread-safe.

    The clock is that of the messages, and each timeout fires when it is due. Deliveries to the warehouse fail; its
    breaker hears of it after each batch, as in the pipeline.
    """

    def __init__(self, table: RoutingTable) -> None:
        self.table = table
        self.shared = {route.name for route in table.routes if route.balance in COUNTED}
        """Routes that go by the number of messages before, of which a sample does not have all."""
        self.outcomes: dict[str, Outcome] = {}
        """By the id of the message, or the text of a line that is no message."""
        self.state: dict[Key, Value] = {}
        self.now = 0.0
        self.log = FollowedLog()
        self._timers: list[tuple[float, Key]] = []
        self._failed: list[tuple[BreakerSettings, Permit]] = []

    def add(self, received: Received | NoMessage) -> None:
        """Decides about a message."""
        if isinstance(received, NoMessage):
            text = refused("receive", received.error.code, received.error.problem)
            self.outcomes[received.text] = frozenset({text})
            return
        message = received.message
        if message.time is not None:
            self.now = max(self.now, message.time.timestamp())
        self._expire()
        decision = self.table.decide(message, self.state, now=self.now, principal=received.principal)
        self._take(decision.changes)
        self.outcomes[message.id] = frozenset(self._outcome(message, received.principal, decision))
        for each in decision.deliveries:
            settings = self.table.destinations[each.destination].breaker
            if each.destination == AWAY and settings is not None and each.permit is not None:
                self._failed.append((settings, each.permit))
        self._follow(decision, message.subject)

    def end_batch(self) -> None:
        """Tells the breaker of the warehouse that the deliveries of this batch failed."""
        key = Key("breaker", AWAY)
        for settings, permit in self._failed:
            before = self.state.get(key)
            state = before if isinstance(before, BreakerState) else BreakerState()
            self.state[key] = breaker.failed(settings, state, permit, self.now)
        self._failed.clear()

    def _outcome(self, message: Message, principal: str | None, decision: Decision) -> Iterator[str]:
        if decision.refused is not None:
            stage, code = self._stage(message.subject, principal)
            yield refused(stage, code, decision.refused)
        elif not decision.deliveries:
            yield UNROUTED
        for each in decision.deliveries:
            yield delivered(each.route, each.destination, self.shared)

    def _stage(self, subject: str, principal: str | None) -> tuple[str, str]:
        """Returns the stage that refused a message, and the code."""
        access = self.table.access
        if access is not None and principal is not None and not access.check(principal, "publish", subject).allowed:
            return "authorize", "publish-refused"
        try:
            Subject(subject, self.table.dialect)
        except SubjectError as error:
            return "resolve", error.code
        return "", ""

    def _follow(self, decision: Decision, subject: str | None) -> None:
        begun = {key for key, value in decision.changes.items() if isinstance(value, GatherState)}
        for each in decision.followed:
            if isinstance(each, SagaMove):
                self.log.add_move(self.now, subject, each)
                continue
            begun.discard(Key("gather", each.route, each.correlation_id))
            if each.gathered is not None:
                self.log.gatherings[each.route, each.gathered.reason.value] += 1
                self.log.gatherings[each.route, "open"] -= 1
            if each.problem is not None or each.outcome.dropped is not None:
                why = "unknown" if each.outcome.dropped is None else each.outcome.dropped.value
                self.log.dropped[each.route, why] += 1
        for key in begun:
            self.log.gatherings[key.name, "open"] += 1

    def _take(self, changes: Changes) -> None:
        for key, value in changes.items():
            if value is None:
                self.state.pop(key, None)
                continue
            self.state[key] = value
            due = self.table.due({key: value})
            if due is not None:
                heapq.heappush(self._timers, (due, key))

    def _expire(self) -> None:
        """Fires all timeouts that are due, each at its own time."""
        present = self.now
        while self._timers and self._timers[0][0] <= present:
            due, key = heapq.heappop(self._timers)
            value = self.state.get(key)
            if value is None or self.table.due({key: value}) != due:
                continue
            self.now = due
            decision = self.table.expire({key: value}, due)
            self._take(decision.changes)
            self._follow(decision, None)
        self.now = present


def _text(outcome: Outcome | None) -> str:
    return "nothing" if outcome is None else ", ".join(sorted(outcome))
