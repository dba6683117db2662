"""Group commit: threads that put one by one, each message on disk when its call returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier, Lock, Thread
from time import perf_counter
from typing import NamedTuple

from pointsman.bench.queue_contenders import OURS, Pointsman
from pointsman.bench.queue_data import KEYS, body
from pointsman.bench.queue_raw import RAW, RawSame
from pointsman.bench.queue_rows import GroupRow

Put = Callable[[tuple[bytes, str]], object]
LOCKED = f"{RAW}, one lock"


class GroupPlan(NamedTuple):
    """How much is measured."""

    threads: Sequence[int]
    rounds: int
    seconds: float


FULL = GroupPlan((1, 16, 64), 4, 0.5)
QUICK = GroupPlan((1, 16, 64), 2, 0.2)


def run_group(plan: GroupPlan, directory: Path) -> list[GroupRow]:
    """The project's queue, and the same inserts by hand, one thread after the other."""
    best: dict[tuple[int, str], float] = {}
    with TemporaryDirectory(dir=directory) as folder:
        ours, raw = Pointsman(Path(folder), "full"), RawSame(Path(folder), "full")
        raw.know(KEYS)
        lock = Lock()

        def put_locked(item: tuple[bytes, str]) -> object:
            with lock:
                return raw.put(item)

        for threads in plan.threads:
            for _ in range(plan.rounds):
                puts: tuple[tuple[str, Put], ...] = ((OURS, ours.put), (LOCKED, put_locked))
                for name, put in puts:
                    rate = put_together(put, threads, plan.seconds)
                    best[threads, name] = max(best.get((threads, name), 0.0), rate)
        ours.close()
        raw.close()
    return [GroupRow(name, threads, rate) for (threads, name), rate in best.items()]


def put_together(put: Put, threads: int, seconds: float) -> float:
    """Messages a second that so many threads put, each as soon as its last one is on disk."""
    counts = [0] * threads
    start = Barrier(threads + 1)

    def work(number: int) -> None:
        start.wait()
        end = perf_counter() + seconds
        while perf_counter() < end:
            put((body(counts[number]), KEYS[counts[number] % len(KEYS)]))
            counts[number] += 1

    workers = [Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    start.wait()
    started = perf_counter()
    for worker in workers:
        worker.join()
    return sum(counts) / (perf_counter() - started)
