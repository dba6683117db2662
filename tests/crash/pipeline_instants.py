"""The instants at which a pipeline is killed: a while after something that it does is seen."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.crash.pipeline_process import Run
from tests.crash.pipeline_story import ARCHIVE, CHECKPOINT, LEDGER, OUT

STARTING = "starting"
TOLD = ("started", "batch", "followed")
SEEN = {
    "planned": f"{CHECKPOINT}/route/offsets/*",
    "begun": f"{CHECKPOINT}/pointsman/begun/*.json",
    "files written": f"{ARCHIVE}/batch=*/_SUCCESS",
    "left for the queue": f"{LEDGER}-staging/*.arrow",
    "recorded": f"{CHECKPOINT}/pointsman/state/*.json",
    "committed": f"{CHECKPOINT}/route/commits/*",
    "states planned": f"{CHECKPOINT}/follow/offsets/*",
    "moves written": f"{OUT}/followed/batch=*/_SUCCESS",
    "commands begun": f"{CHECKPOINT}/commands/pointsman/begun/*.json",
    "states committed": f"{CHECKPOINT}/follow/commits/*",
}
"""What can be seen of a batch in the files, in about this order."""
LONGEST = {STARTING: 8.0, "started": 3.0, "batch": 2.5}
SOON = 0.25
"""Seconds up to which it goes on after what was seen; longer after some."""


class Instant(NamedTuple):
    """A time in the life of a run."""

    after: str
    skip: int
    """How many of the same are let pass."""
    delay: float


def instants(source: random.Random) -> Iterator[Instant]:
    """One after the other, each kind once before one comes again."""
    while True:
        kinds = [STARTING, *TOLD, *SEEN]
        source.shuffle(kinds)
        for kind in kinds:
            # Some come in the middle of a write; some, where there is a choice, when it is over.
            delay = source.random() * LONGEST.get(kind, SOON) * source.choice((0.1, 1.0))
            yield Instant(kind, source.choice((0, 0, 1)) if kind not in (STARTING, "started") else 0, delay)


class Watch:
    """Looks out for an instant of a run."""

    def __init__(self, folder: Path, run: Run, instant: Instant) -> None:
        self._folder = folder
        self._run = run
        self._instant = instant
        self._before = self._count()
        self._is_new = time.monotonic() - run.started < 0.1
        self._since: float | None = None

    def is_reached(self) -> bool:
        """Whether it is time."""
        if self._instant.after == STARTING:
            # One that has been under way is not looked at: the next one starts when it ends.
            return self._is_new and time.monotonic() - self._run.started >= self._instant.delay
        if self._since is None:
            if self._count() <= self._before + self._instant.skip:
                return False
            self._since = time.monotonic()
        return time.monotonic() - self._since >= self._instant.delay

    def _count(self) -> int:
        after = self._instant.after
        if after in SEEN:
            return sum(1 for _ in self._folder.glob(SEEN[after]))
        return self._run.events().count(after)
