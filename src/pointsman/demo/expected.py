"""What a run must come to: the messages decided one after the other, by ``RoutingTable.decide`` and nothing else."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pointsman.demo.counts import Counts, Flow, Refusal, family_of, general_reason
from pointsman.demo.outcomes import Outage, Outcomes
from pointsman.demo.reading import read_file
from pointsman.demo.tales import SagaLog
from pointsman.errors import InputError, MessageError, SubjectError
from pointsman.message import Message
from pointsman.patterns.subject import Subject
from pointsman.routing.gather_state import GatherState
from pointsman.table.collector import without_collector
from pointsman.table.decision import Decision
from pointsman.table.followed import Gathering, SagaMove
from pointsman.table.message_lines import Received
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Changes, Key, Value


def decide_all(
    folder: Path,
    table: RoutingTable,
    *,
    files_per_batch: int | None = None,
    outages: Sequence[Outage] = (),
) -> Counts:
    """Decides about all messages in the ``.jsonl`` files of a folder, in the order of their names and lines.

    The time is that of the messages; every timeout is taken at the moment it falls due, until the last message. With
    ``files_per_batch``, the outcomes of deliveries are told to breakers and balances after each batch of so many files,
    as a runtime that works in batches does: a delivery fails if its destination has an outage at the time of the
    message. Without ``files_per_batch``, no outcome is ever told.

    A line that is no message is quarantined by the stage ``receive``. Raises ``InputError`` (``no-file``) for a folder
    without such files.
    """
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise InputError("no-file", "there are no .jsonl files in it", file=str(folder))
    with without_collector():
        outcomes = None if files_per_batch is None else Outcomes(table, outages)
        return _decide_files(files, Run(table, outcomes), files_per_batch)


def _decide_files(files: Sequence[Path], run: Run, files_per_batch: int | None) -> Counts:
    for number, file in enumerate(files, start=1):
        for received in read_file(file):
            run.add(received)
        if files_per_batch is not None and (number % files_per_batch == 0 or number == len(files)):
            run.end_batch()
    return run.counts()


class Run:
    """A table at work on messages in the order of their times. Not safe between threads."""

    def __init__(self, table: RoutingTable, outcomes: Outcomes | None) -> None:
        self.table = table
        self.outcomes = outcomes
        self.state: dict[Key, Value] = {}
        self.now = 0.0
        self._timers: list[tuple[float, Key]] = []
        self._log = SagaLog()
        self._messages = self._routed = 0
        self._deliveries: Counter[Flow] = Counter()
        self._quarantined: Counter[Refusal] = Counter()
        self._unrouted: Counter[str] = Counter()
        self._gatherings: Counter[tuple[str, str]] = Counter()
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._fallbacks: Counter[tuple[str, str]] = Counter()

    def add(self, received: Received | MessageError) -> None:
        """Decides about a message, and counts what comes of it."""
        self._messages += 1
        if isinstance(received, MessageError):
            self._quarantined[Refusal("", "receive", received.code, general_reason(received.problem))] += 1
            return
        message = received.message
        if message.time is not None:
            self.now = max(self.now, message.time.timestamp())
        self._expire()
        decision = self.table.decide(message, self.state, now=self.now, principal=received.principal)
        self._take(decision.changes)
        family = family_of(message.subject)
        if decision.refused is not None:
            stage, code = self._why(message.subject, received.principal)
            self._quarantined[Refusal(family, stage, code, general_reason(decision.refused))] += 1
            return
        self._count(family, decision)
        self._follow(decision, message.subject)

    def end_batch(self) -> None:
        """Tells the outcomes of the deliveries since the last batch."""
        if self.outcomes is not None:
            self._take(self.outcomes.tell(self.state, self.now))

    def counts(self) -> Counts:
        """What came of all messages so far."""
        waiting = Counter((key.name, "open") for key, value in self.state.items() if is_waiting(value))
        return Counts(
            messages=self._messages,
            routed=self._routed,
            deliveries=self._deliveries,
            quarantined=self._quarantined,
            unrouted=self._unrouted,
            sagas=self._log.endings(),
            saga_states=self._log.states(),
            commands=self._log.commands,
            carried=self._carried(),
            unmoved=self._log.unmoved,
            gatherings=self._gatherings + waiting,
            dropped=self._dropped,
            fallbacks=self._fallbacks,
            failed=Counter() if self.outcomes is None else self.outcomes.failed,
            tales=self._log.tales(),
        )

    def _count(self, family: str, decision: Decision) -> None:
        if not decision.deliveries:
            self._unrouted[family] += 1
            return
        self._routed += 1
        for delivery in decision.deliveries:
            self._deliveries[Flow(family, delivery.route, delivery.destination)] += 1
            if delivery.instead_of is not None:
                self._fallbacks[delivery.instead_of, delivery.destination] += 1
            if self.outcomes is not None:
                self.outcomes.add(delivery, self.now)

    def _carried(self) -> Counter[tuple[str, str]]:
        """The deliveries of the commands that sagas sent, by routes that know nothing of what went before."""
        carried: Counter[tuple[str, str]] = Counter()
        for subject, count in self._log.commands.items():
            for delivery in self.table.decide(Message(subject, id="-")).deliveries:
                carried[delivery.route, delivery.destination] += count
        return carried

    def _follow(self, decision: Decision, subject: str | None) -> None:
        for each in decision.followed:
            if isinstance(each, SagaMove):
                self._log.add(self.now, subject, each)
            elif isinstance(each, Gathering):
                if each.gathered is not None:
                    self._gatherings[each.route, each.gathered.reason.value] += 1
                if each.problem is not None or each.outcome.dropped is not None:
                    self._dropped[each.route, each.outcome.dropped.value if each.outcome.dropped else "unknown"] += 1

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
        """Takes all timeouts that are due, each at its own time."""
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

    def _why(self, subject: str, principal: str | None) -> tuple[str, str]:
        """The stage that refused a message, and the code."""
        access = self.table.access
        if access is not None and principal is not None and not access.check(principal, "publish", subject).allowed:
            return "authorize", "publish-refused"
        try:
            Subject(subject, self.table.dialect)
        except SubjectError as error:
            return "resolve", error.code
        raise AssertionError


def is_waiting(value: Value) -> bool:
    """Whether this is a gathering that nothing has completed."""
    return isinstance(value, GatherState) and not value.complete
