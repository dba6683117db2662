"""The crash test of the broker: processes publish and handle on one file, are killed, and others go on."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.crash.broker_consistency import disagreements
from tests.crash.broker_story import FILE
from tests.crash.broker_verdict import broken_promises, gather
from tests.crash.broker_worker import DRAIN
from tests.crash.consistency import inconsistencies
from tests.crash.journal import read_journals
from tests.crash.rounds import ROOT, Outcome, Worker, ended_by_itself, kill

PROCESSES = 2
PATIENCE = 120.0
"""Seconds after which what is left to do is taken to be stuck."""


class BrokerRounds:
    """Brokers on one file in a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.outcome = Outcome()
        self._folder = folder
        self._source = random.Random(seed)
        self._started = 0
        self._workers = [self._start("") for _ in range(PROCESSES)]

    def run(self, rounds: int, progress: Callable[[str], None] = lambda _: None) -> Outcome:
        """Kills so many times, then lets one broker finish and looks whether every promise was kept."""
        try:
            while self.outcome.counts["kills"] < rounds and not self.outcome.wrong:
                self._round()
                progress(f"{self.outcome.counts['kills']} of {rounds} kills of brokers")
        finally:
            for worker in self._workers:
                self._kill(worker)
        if not self.outcome.wrong:
            self._finish()
        return self.outcome

    def _round(self) -> None:
        chosen = list(range(PROCESSES)) if self._source.random() < 0.2 else [self._source.randrange(PROCESSES)]
        for number in chosen:
            self._wait_until_working(self._workers[number])
        time.sleep(self._source.random() * 0.5)
        for number in chosen:
            self._kill(self._workers[number])
        self._check()
        for number in chosen:
            self._workers[number] = self._start(self._workers[number].name)

    def _start(self, before: str, name: str = "") -> Worker:
        self._started += 1
        chosen = name or f"broker-{self._started}"
        arguments = [str(self._folder), chosen, str(self._source.random()), before]
        with (self._folder / f"{chosen}.errors").open("wb") as errors:
            command = [sys.executable, "-m", "tests.crash.broker_worker", *arguments]
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=errors, stderr=errors)
        return Worker("broker", chosen, process)

    def _wait_until_working(self, worker: Worker) -> None:
        journal = self._folder / f"{worker.name}.journal"
        while worker.process.poll() is None and not (journal.exists() and journal.stat().st_size):
            time.sleep(0.005)

    def _kill(self, worker: Worker) -> None:
        if worker.process.poll() is not None:
            kill(worker)
            self.outcome.wrong.append(ended_by_itself(self._folder, worker))
            return
        kill(worker)
        self.outcome.counts["kills"] += 1

    def _check(self, *, thorough: bool = False) -> None:
        path = self._folder / FILE
        if path.exists():
            self.outcome.wrong += inconsistencies(path, thorough=thorough) + disagreements(path)

    def _finish(self) -> None:
        self._check(thorough=True)
        last = self._start("", DRAIN)
        try:
            if last.process.wait(PATIENCE) != 0:
                self.outcome.wrong.append(ended_by_itself(self._folder, last))
        except subprocess.TimeoutExpired:
            self.outcome.wrong.append(f"something was still left to do after {PATIENCE} seconds")
        kill(last)
        self._check(thorough=True)
        handled = gather(read_journals(self._folder))
        self.outcome.wrong += broken_promises(handled)
        counts = self.outcome.counts
        counts["published"] = len(handled.published)
        counts["published though it was not heard of"] = len(handled.by.keys() - handled.published)
        counts["handled"] = handled.times
        counts["orders"] = len(handled.commands)
        counts["gatherings"] = len(handled.results)
