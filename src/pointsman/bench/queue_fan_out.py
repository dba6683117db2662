"""Putting with many durable subscriptions of which few match, beside putting with those few alone."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from pointsman.bench.queue_data import messages
from pointsman.bench.queue_rows import DISTINCT, ZIPF, FanOutRow
from pointsman.store.queue import Queue

MATCHING = (
    "#",
    "orders.#",
    "orders.eu.#",
    "orders.eu.laptops.*",
    "orders.eu.*.*",
    "orders.*.laptops.*",
    "orders.*.*.*",
    "*.eu.laptops.#",
    "#.laptops.*",
    "*.#.laptops.#",
)
OTHERS = ("orders.eu.thing{}.*", "orders.*.thing{}.#", "orders.eu.laptops.x{}", "*.region{}.#", "#.laptops.x{}")
BATCH = 100


class FanOutPlan(NamedTuple):
    """How much is measured."""

    subscriptions: int
    batches: int
    rounds: int


FULL = FanOutPlan(10_000, 20, 5)
QUICK = FanOutPlan(10_000, 5, 3)


def run_fan_out(plan: FanOutPlan, directory: Path) -> list[FanOutRow]:
    """A row for few and for many subscriptions, with keys that come again and keys that do not."""
    with (
        TemporaryDirectory(dir=directory) as folder,
        Queue(Path(folder) / "few.db", durability="normal") as few,
        Queue(Path(folder) / "many.db", durability="normal") as many,
    ):
        subscribe(few, len(MATCHING))
        subscribe(many, plan.subscriptions)
        return [row for keys in (ZIPF, DISTINCT) for row in _compare(plan, few, many, keys)]


def subscribe(queue: Queue, count: int) -> None:
    """Makes so many subscriptions, the first of which match every message."""
    others = (OTHERS[number % len(OTHERS)].format(number) for number in range(len(MATCHING), count))
    for number, pattern in enumerate((*MATCHING, *others)):
        queue.subscribe(f"s{number}", pattern)


def _compare(plan: FanOutPlan, few: Queue, many: Queue, keys: str) -> list[FanOutRow]:
    best = {few: float("inf"), many: float("inf")}
    start = 0
    # The first round is not measured: each key is new to the queue once.
    for number in range(plan.rounds + 1):
        for queue in best:
            spent = _put(queue, plan.batches, start, distinct=keys == DISTINCT)
            best[queue] = min(best[queue], spent) if number else best[queue]
            start += plan.batches * BATCH
    return [
        FanOutRow(keys, count, len(MATCHING), best[queue], best[queue] / best[few])
        for queue, count in ((few, len(MATCHING)), (many, plan.subscriptions))
    ]


def _put(queue: Queue, batches: int, start: int, *, distinct: bool) -> float:
    """Microseconds of CPU time a message."""
    items = [*messages(start, batches * BATCH, distinct=distinct)]
    started = process_time()
    for first in range(0, len(items), BATCH):
        queue.put_many(items[first : first + BATCH])
    return (process_time() - started) / len(items) * 1e6
