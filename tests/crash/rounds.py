"""The crash test of the queue: processes work on one file, are killed at random instants, and others go on."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pointsman.store.queue import Queue
from tests.crash.consistency import inconsistencies
from tests.crash.consuming import popped
from tests.crash.journal import Journal, read_journals
from tests.crash.letters import SUBSCRIPTIONS
from tests.crash.verdict import broken_promises, gather
from tests.crash.worker import FILE, ROLES

ROOT = Path(__file__).parents[2]
DAY = 86_400.0


@dataclass(slots=True)
class Outcome:
    """What came of a crash test."""

    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Worker:
    """A process that works, or did."""

    role: str
    name: str
    process: subprocess.Popen[bytes]


def kill(worker: Worker) -> None:
    """Kills a worker, and waits until it is gone."""
    worker.process.kill()
    worker.process.communicate()


def ended_by_itself(folder: Path, worker: Worker) -> str:
    """What is said of a worker that nobody killed."""
    return f"{worker.name} ended by itself: {(folder / f'{worker.name}.errors').read_text()[-2000:]}"


class Rounds:
    """Workers of every role on one queue in a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.outcome = Outcome()
        self._folder = folder
        self._source = random.Random(seed)
        self._started = Counter[str]()
        with Queue(folder / FILE) as queue:
            self._subscriptions = {name: queue.subscribe(name, pattern).id for name, pattern in SUBSCRIPTIONS.items()}
        self._last: dict[str, str] = {}
        self._workers = {role: self._start(role) for role in ROLES}

    def run(self, rounds: int, progress: Callable[[str], None] = lambda _: None) -> Outcome:
        """Kills so many times, then drains the queue and looks whether every promise was kept."""
        try:
            while self.outcome.counts["kills"] < rounds and not self.outcome.wrong:
                self._round()
                progress(f"{self.outcome.counts['kills']} of {rounds} kills")
        finally:
            for worker in self._workers.values():
                self._kill(worker)
        self._finish()
        return self.outcome

    def _round(self) -> None:
        working = list(self._workers)
        chance = self._source.random()
        chosen = working if chance < 0.1 else self._source.sample(working, min(len(working), 3 if chance < 0.25 else 1))
        if self._source.random() < 0.8:
            self._wait_until_working(chosen)
        time.sleep(self._source.random() * 0.2)
        if self._source.random() < 0.6:
            self._wait_for_a_line(self._workers[chosen[0]])
        for role in chosen:
            self._kill(self._workers.pop(role))
        if self._source.random() < 0.3:
            self.outcome.wrong += inconsistencies(self._folder / FILE)
        self._fill()

    def _fill(self) -> None:
        """Starts workers up to some number: few of them are killed while they write, many while they wait."""
        idle = [role for role in ROLES if role not in self._workers]
        wanted = self._source.choice((1, 2, 2, 3, 6, len(ROLES))) - len(self._workers)
        for role in self._source.sample(idle, max(0, min(wanted, len(idle)))) or idle[:1]:
            self._workers[role] = self._start(role)

    def _start(self, role: str) -> Worker:
        self._started[role] += 1
        name = f"{role}-{self._started[role]}"
        before = self._last.get(role, "")
        self._last[role] = name
        arguments = [role, str(self._folder), name, str(self._source.random()), before]
        with (self._folder / f"{name}.errors").open("wb") as errors:
            command = [sys.executable, "-m", "tests.crash.worker", *arguments]
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=errors, stderr=errors)
        return Worker(role, name, process)

    def _wait_until_working(self, roles: list[str]) -> None:
        for role in roles:
            worker = self._workers[role]
            journal = self._folder / f"{worker.name}.journal"
            while worker.process.poll() is None and not (journal.exists() and journal.stat().st_size):
                time.sleep(0.005)

    def _wait_for_a_line(self, worker: Worker) -> None:
        """Until the worker has written a line, and a moment longer: so it is killed in the middle of a call."""
        journal = self._folder / f"{worker.name}.journal"
        size = journal.stat().st_size if journal.exists() else 0
        end = time.monotonic() + 0.3
        while time.monotonic() < end and not (journal.exists() and journal.stat().st_size > size):
            pass
        end = time.monotonic() + self._source.random() * 0.002
        while time.monotonic() < end:
            pass

    def _kill(self, worker: Worker) -> None:
        if worker.process.poll() is not None:
            kill(worker)
            self.outcome.wrong.append(ended_by_itself(self._folder, worker))
            return
        kill(worker)
        self.outcome.counts["kills"] += 1

    def _finish(self) -> None:
        path, outcome = self._folder / FILE, self.outcome
        outcome.wrong += inconsistencies(path, thorough=True)
        # A day later, every lease and every delay is over.
        with Queue(path, clock=lambda: time.time() + DAY, max_attempts=1_000_000) as queue:
            self._drain(queue)
            sizes, unfinished = queue.size(), queue.unfinished
            if unfinished or any((sizes.ready, sizes.leased, sizes.delayed, sizes.dead)):
                outcome.wrong.append(f"everything is done, and yet there are {unfinished} unfinished, {sizes}")
        outcome.wrong += inconsistencies(path, thorough=True)
        seen = gather(read_journals(self._folder))
        outcome.wrong += broken_promises(seen, self._subscriptions)
        outcome.counts["put"] = len(seen.put)
        outcome.counts["stored though put did not return"] = len(seen.numbers.keys() - seen.put)
        outcome.counts["refused"] = len(seen.refused)
        outcome.counts["deliveries"] = len(seen.attempts)
        outcome.counts["delivered again"] = sum(map(len, seen.attempts.values())) - len(seen.attempts)
        outcome.counts["acknowledged"] = len(seen.acked)

    def _drain(self, queue: Queue) -> None:
        journal = Journal(self._folder / "drain.journal")
        for name in (None, *self._subscriptions):
            while messages := queue.pop_many(500, subscription=name):
                for message in messages:
                    popped(journal, message)
                queue.ack_many(messages)
        journal.close()
