"""The crash test of the pipeline: it runs, is killed at random instants, and runs again, while messages come."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from pointsman.message import Message
from pointsman.store.queue import Queue
from pointsman.table.routing_table import RoutingTable
from tests.crash.pipeline_found import find
from tests.crash.pipeline_instants import Instant, Watch, instants
from tests.crash.pipeline_process import Run
from tests.crash.pipeline_story import QUEUE, SUBSCRIPTIONS, Story, pipeline, put, subscriptions, table
from tests.crash.pipeline_verdict import broken_promises
from tests.crash.rounds import Outcome

PATIENCE = 300.0
"""Seconds after which a process that does nothing is taken to be stuck."""
TARGETS = ("all", "all", "all", "driver", "driver", "worker", "java")
LOOK = 0.01
FEED = 0.25
"""Seconds between two messages, while a round lasts."""


class PipelineRounds:
    """One pipeline in a folder, and all the processes that run it, one after the other."""

    def __init__(self, folder: Path, seed: int, *, share: int = 24, most: int = 20) -> None:
        """``share`` messages come in a round, and ``most`` make a batch."""
        self.outcome = Outcome()
        self._folder = folder
        self._seed = seed
        self._source = random.Random(seed)
        self._share = share
        self._most = most
        self._runs: list[Run] = []
        self._put = 0
        self._versions: dict[str, bool] = {}

    def run(self, rounds: int, progress: Callable[[str], None] = lambda _: None) -> Outcome:
        """Kills so many times, then lets it come to its end and looks whether every promise was kept."""
        for name in ("temporary", "local"):
            (self._folder / name).mkdir()
        self._write_versions(extra=False)
        (self._folder / "pipeline.yaml").write_text(json.dumps(pipeline(self._most)))
        story = Story.make(self._seed, self._share * rounds)
        times = instants(self._source)
        with Queue(self._folder / QUEUE, dialect="nats") as queue:
            try:
                while self.outcome.counts["kills"] < rounds and not self.outcome.wrong:
                    if self.outcome.counts["kills"] * 2 >= rounds:
                        self._write_versions(extra=True)
                    share = story.messages[self._put : -1][: self._share]
                    self._round(queue, share, next(times))
                    progress(f"{self.outcome.counts['kills']} of {rounds} kills of pipelines")
                if not self.outcome.wrong:
                    put(queue, story.messages[self._put :])
                    self._finish()
            finally:
                for run in self._runs:
                    run.kill("all", 0)
        if not self.outcome.wrong:
            self._judge(story)
        return self.outcome

    def _write_versions(self, *, extra: bool) -> None:
        """Puts a version of table and subscriptions in the place of the one before, unless it is the same."""
        plain = table(extra=extra)
        digest = RoutingTable.from_plain(plain).hash
        if digest not in self._versions:
            self._versions[digest] = extra
            self._replace("table.yaml", json.dumps(plain))
            self._replace(SUBSCRIPTIONS, "".join(json.dumps(each) + "\n" for each in subscriptions(later=extra)))

    def _replace(self, name: str, text: str) -> None:
        draft = self._folder / "draft"
        draft.write_text(text)
        draft.replace(self._folder / name)

    def _round(self, queue: Queue, messages: tuple[Message, ...], instant: Instant) -> None:
        """Half of the messages are there when it begins, and the others come meanwhile."""
        target = self._source.choice(TARGETS)
        self._feed(queue, messages[: len(messages) // 2])
        coming = list(messages[len(messages) // 2 :])
        run = self._running()
        watch = Watch(self._folder, run, instant)
        fed = began = time.monotonic()
        while not self.outcome.wrong:
            if coming and time.monotonic() - fed > FEED:
                self._feed(queue, (coming.pop(0),))
                fed = time.monotonic()
            if run.code is not None:
                # It has come to the end of what was there, or was harmed in the round before.
                run = self._running()
                watch = Watch(self._folder, run, instant)
            elif watch.is_reached() and run.kill(target, self._source.random()):
                self.outcome.counts["kills"] += 1
                self.outcome.counts[f"of {target}"] += 1
                self.outcome.counts[f"after {instant.after}"] += 1
                break
            elif time.monotonic() - began > PATIENCE:
                self.outcome.wrong.append(f"{run.name} did nothing for {PATIENCE:g} seconds: {instant}")
            time.sleep(LOOK)
        self._feed(queue, tuple(coming))
        if target == "java" and not run.wait(PATIENCE):
            self.outcome.wrong.append(f"{run.name} is stuck, and its Java was killed")
        elif target == "java" and not run.says_why():
            self.outcome.wrong.append(f"{run.name} does not say what happened: {run.last_words()}")

    def _feed(self, queue: Queue, messages: tuple[Message, ...]) -> None:
        put(queue, messages)
        self._put += len(messages)

    def _running(self) -> Run:
        """The run that is under way, or a new one if that is over."""
        if self._runs:
            last = self._runs[-1]
            if last.code is None:
                return last
            if last.code != 0 and not last.is_harmed:
                self.outcome.wrong.append(last.last_words())
        self._runs.append(Run(self._folder, len(self._runs)))
        return self._runs[-1]

    def _finish(self) -> None:
        """Lets it come to its end: one that is under way knows nothing of what came last, and another goes on."""
        if self._runs and self._runs[-1].code is None:
            self._ends(self._runs[-1])
        self._ends(self._running())
        for run in self._runs:
            if not run.wait(PATIENCE):
                self.outcome.wrong.append(f"something of {run.name} is left and goes on")

    def _ends(self, run: Run) -> bool:
        """Whether a run is over in time, and well; or else that is told."""
        if not run.wait(PATIENCE):
            self.outcome.wrong.append(f"{run.name} did not end within {PATIENCE:g} seconds")
        elif run.code != 0 and not run.is_harmed:
            self.outcome.wrong.append(run.last_words())
        return not self.outcome.wrong

    def _judge(self, story: Story) -> None:
        found = find(self._folder)
        self.outcome.wrong += broken_promises(story, found, self._versions)
        counts = self.outcome.counts
        counts["runs"] = len(self._runs)
        counts["batches"] = len(found.committed)
        counts["messages"] = len(story.messages)
        counts["orders"] = len(story.orders())
        counts["watched"] = len(found.watched) + len(found.watched_commands)
        counts["commands"] = sum(each.kind == "command" for each in found.followed)
