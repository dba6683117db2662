"""A process of the benchmark of the queue: reads what to do as lines of JSON, and writes a line of JSON for each.

Run as ``python -m pointsman.bench.queue_worker NUMBER``; ``queue_processes.py`` does that.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from pointsman.bench.queue_contenders import Contender, Pointsman, PointsmanNext
from pointsman.bench.queue_data import KEYS, messages
from pointsman.bench.queue_peers import DiskCache, Huey, LiteQueue, PersistQueue
from pointsman.bench.queue_raw import RawOne, RawSame
from pointsman.bench.queue_rows import DISTINCT, POP_ACK, PUT

CONTENDERS: tuple[type[Contender], ...] = (
    Pointsman,
    PointsmanNext,
    RawSame,
    RawOne,
    LiteQueue,
    PersistQueue,
    Huey,
    DiskCache,
)
BY_NAME = {each.name: each for each in CONTENDERS}
APART = 10**9
"""Between the first numbers of two processes."""


class Worker:
    """The contenders that are open in this process."""

    def __init__(self, number: int) -> None:
        self._next = number * APART
        self._open: dict[str, Contender] = {}
        self._distinct = False
        self._work: list[Any] = []
        self._taken: dict[str, list[int]] = {}

    def open(self, name: str, folder: str, durability: str, keys: str) -> str:
        """Opens a contender, and gives what its commits wait for."""
        contender = BY_NAME[name](Path(folder), durability)
        self._open[name] = contender
        self._taken[name] = []
        self._distinct = keys == DISTINCT
        if not self._distinct:
            contender.know(KEYS)
        return contender.durability()

    def fill(self, name: str, count: int) -> None:
        """Puts messages to be popped."""
        self._open[name].fill(self._items(name, count))
        self._open[name].checkpoint()

    def prepare(self, name: str, count: int, batch: int) -> None:
        """Makes messages to be put."""
        items = self._items(name, count)
        self._work = items if batch == 1 else [items[start : start + batch] for start in range(0, count, batch)]

    def run(self, name: str, operation: str, batch: int, seconds: float) -> tuple[int, float]:
        """Puts or pops for so long, or until there is nothing left; how many messages, and the seconds it took."""
        contender = self._open[name]
        popped: list[bytes] = []
        started = perf_counter()
        if operation == PUT:
            count = self._put(contender, batch, started + seconds)
        elif batch == 1:
            count = self._pop(contender, popped, operation == POP_ACK, started + seconds)
        else:
            count = self._pop_many(contender, popped, batch, operation == POP_ACK, started + seconds)
        passed = perf_counter() - started
        self._taken[name] += map(int, popped)
        return count, passed

    def taken(self, name: str) -> list[int]:
        """The numbers of the messages that were popped."""
        return self._taken[name]

    def close(self, name: str) -> None:
        """Closes a contender."""
        self._open.pop(name).close()
        del self._taken[name]

    def _items(self, name: str, count: int) -> list[Any]:
        start, self._next = self._next, self._next + count
        item = self._open[name].item
        return [item(body, key) for body, key in messages(start, count, distinct=self._distinct)]

    def _put(self, contender: Contender, batch: int, end: float) -> int:
        put = contender.put if batch == 1 else contender.put_many
        done = 0
        for each in self._work:
            put(each)
            done += 1
            if perf_counter() >= end:
                break
        return done * batch

    def _pop(self, contender: Contender, popped: list[bytes], ack: bool, end: float) -> int:
        """Only the bodies are kept: a consumer that is done with a message has no more use for it."""
        while perf_counter() < end and (message := contender.pop()) is not None:
            popped.append(contender.body(message))
            if ack:
                contender.ack(message)
        return len(popped)

    def _pop_many(self, contender: Contender, popped: list[bytes], batch: int, ack: bool, end: float) -> int:
        body = contender.body
        while perf_counter() < end and (messages := contender.pop_many(batch)):
            popped += map(body, messages)
            if ack:
                contender.ack_many(messages)
        return len(popped)


def main() -> None:
    """Does what the lines say, until there are no more."""
    worker = Worker(int(sys.argv[1]))
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            answer["result"] = getattr(worker, name)(*arguments)
        except Exception as error:
            answer["problem"] = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
