"""Pops by pattern from a large queue: through durable subscriptions, and by patterns nobody subscribed to.

Durability is normal, so that no pop waits for the disk. What must hold is judged by the CPU time of the thread, for the
wall clock also counts what else the machine does.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import perf_counter, thread_time
from typing import NamedTuple

from pointsman.bench.queue_contenders import LEASE
from pointsman.bench.queue_data import body
from pointsman.bench.queue_rows import PatternRow
from pointsman.store.queue import Queue

DURABLE, AD_HOC = "subscription", "ad hoc"
INDEX = "makes the index"
"""The first pop of all by a pattern that nobody subscribed to."""
BATCH = 10_000
SIZES = (10, 20, 25, 20)
"""Distinct tokens at each place of a key: d0 to d9, and so on; 100,000 keys."""
SHAPES = {
    "selective": ("d7.*.a3.*", "d6.*.a2.*"),
    "unselective": ("d7.#", "d6.#"),
    "# in front": ("#.x3", "#.x2"),
    "# in the middle": ("d7.#.x3", "d6.#.x2"),
    "# at the end": ("d7.t3.#", "d6.t2.#"),
    "no match": ("nobody.#.x3", "none.#.x2"),
}
"""For each shape, the pattern that is subscribed to and another one that is not."""
Progress = Callable[[str], object]


class PatternPlan(NamedTuple):
    """How much is measured."""

    messages: int
    pops: int
    """For each pattern; the first is not among them."""


class Pop(NamedTuple):
    """How long one took, in milliseconds."""

    cpu: float
    wall: float
    found: bool


FULL = PatternPlan(1_000_000, 1_000)
QUICK = PatternPlan(100_000, 300)


def run_patterns(plan: PatternPlan, directory: Path, progress: Progress) -> list[PatternRow]:
    """A row for each shape, popped in both ways."""
    progress(f"patterns: making {plan.messages:,} messages")
    keys = make_keys(plan.messages)
    exact = exact_keys(keys, plan.pops + 1)
    shapes = {"exact": exact} | SHAPES
    with (
        TemporaryDirectory(dir=directory) as folder,
        Queue(Path(folder) / "queue.db", durability="normal", lease=LEASE) as queue,
    ):
        for shape, (pattern, _) in shapes.items():
            queue.subscribe(shape, pattern)
        for start in range(0, len(keys), BATCH):
            progress(f"patterns: {start:,} of {plan.messages:,} messages put")
            queue.put_many((body(start), key) for key in keys[start : start + BATCH])
        progress("patterns: popping")
        gc.collect()
        return [*_rows(queue, plan, shapes)]


def _rows(queue: Queue, plan: PatternPlan, shapes: dict[str, tuple[str, str]]) -> Iterator[PatternRow]:
    def durable(shape: str) -> Callable[[], Pop]:
        return lambda: timed(lambda: queue.pop(subscription=shape))

    def ad_hoc(pattern: str) -> Callable[[], Pop]:
        return lambda: timed(lambda: queue.pop(pattern))

    random = Random(7)  # noqa: S311 - an order, no secret
    yield _row(AD_HOC, INDEX, "nothing.*.here", plan, [ad_hoc("nothing.*.here")()])
    for how, place in ((DURABLE, 0), (AD_HOC, 1)):
        pops = {
            shape: durable(shape) if how == DURABLE else ad_hoc(patterns[place]) for shape, patterns in shapes.items()
        }
        # In turns, and in another order each time: SQLite's checkpoints shall not always hit the same shape.
        turns = (random.sample(sorted(pops), len(pops)) for _ in range(plan.pops + 1))
        times = [{shape: pops[shape]() for shape in turn} for turn in turns]
        for shape, patterns in shapes.items():
            yield _row(how, shape, patterns[place], plan, [each[shape] for each in times])


def _row(how: str, shape: str, pattern: str, plan: PatternPlan, pops: Sequence[Pop]) -> PatternRow:
    first, later = pops[0], pops[1:] or pops
    cpu, wall = sorted(each.cpu for each in later), sorted(each.wall for each in later)
    found = sum(each.found for each in pops)
    spread = (*_spread(cpu), *_spread(wall))
    return PatternRow(how, shape, pattern, plan.messages, len(pops), found, first.cpu, *spread)


def _spread(times: Sequence[float]) -> tuple[float, float, float]:
    """The median, the 99th percentile and the most of sorted times."""
    return times[len(times) // 2], times[min(len(times) * 99 // 100, len(times) - 1)], times[-1]


def timed(pop: Callable[[], object]) -> Pop:
    """One pop."""
    wall, cpu = perf_counter(), thread_time()
    message = pop()
    cpu, wall = thread_time() - cpu, perf_counter() - wall
    return Pop(cpu * 1000, wall * 1000, message is not None)


def make_keys(count: int) -> list[str]:
    """Routing keys of four tokens, some of which come much more often than others (Zipf)."""
    random = Random(5)  # noqa: S311 - data, no secret
    first, second, third, fourth = map(range, SIZES)
    distinct = [f"d{d}.t{t}.a{a}.x{x}" for d in first for t in second for a in third for x in fourth]
    random.shuffle(distinct)
    weights = [*accumulate(1 / rank for rank in range(10, len(distinct) + 10))]
    return random.choices(distinct, cum_weights=weights, k=count)


def exact_keys(keys: Sequence[str], least: int) -> tuple[str, str]:
    """The two rarest keys that come at least so often, and as often as any if none does."""
    often = [key for key, count in Counter(keys).most_common() if count >= least] or list(keys[:2])
    return often[-1], often[-2] if len(often) > 1 else keys[1]
