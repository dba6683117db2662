"""One subject, all patterns: the indexes against what one would use otherwise, on the same data in one process.

What is warm: every engine has answered before it is measured. ``CompiledIndex`` keeps nothing between two calls, so the
same stream is matched again. The others get messages that were not measured before, a new piece of the stream each
time; their caches hold what the pieces before left there. The processor's own caches are as full as they get.

The engines take turns, several times each: when the machine is busy for a while, it is so for all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pointsman.bench import engines
from pointsman.bench.engines import Engine
from pointsman.bench.match_rows import Built, Row, match_all, seconds_of
from pointsman.bench.sizes import bytes_of
from pointsman.bench.subjects import Streams, patterns, streams
from pointsman.matching.compiled import CompiledIndex

STREAMS = ("repeated", "distinct", "missing")
COMPILED, LIVE, UNCACHED, PAHO = "CompiledIndex", "SubjectIndex", "SubjectIndex, no cache", "paho"
PAHO_CACHED, BRUTE = "paho + lru_cache", "re, one by one"
DICT, DICT_COPY = "dict and a call", "dict, a call and a copy"
HITS = 1_000
"""How many subjects the hits are measured with: well within every cache."""

Progress = Callable[[str], object]
Counts = npt.NDArray[np.int64]


class Plan(NamedTuple):
    """How much is measured."""

    sizes: Sequence[int]
    messages: int
    """In a stream."""
    piece: int
    """Messages that the engines which take one at a time get in a round."""
    turns: int
    rounds: int
    """In a turn."""
    weigh_up_to: int
    """Patterns; objects of Python are weighed one by one, which takes as long as making them."""
    brute_up_to: int = 1_000
    brute_piece: int = 50


FULL = Plan((1_000, 10_000, 100_000, 1_000_000), 1_000_000, 10_000, 3, 2, 1_000_000)
QUICK = Plan((1_000, 100_000), 600_000, 6_000, 2, 2, 1_000, brute_piece=20)


def run(quick: bool, progress: Progress = lambda _: None) -> list[Row]:
    """The measurements; ``progress`` is told what comes next. Raises ``AssertionError`` when two engines disagree."""
    return run_plan(QUICK if quick else FULL, progress)


def run_plan(plan: Plan, progress: Progress = lambda _: None) -> list[Row]:
    """The measurements of a plan."""
    progress("making messages")
    messages = streams(plan.messages)
    rows: list[Row] = []
    for size in plan.sizes:
        try:
            rows += _run_size(plan, size, messages, progress)
        finally:
            gc.unfreeze()
    return rows


def _run_size(plan: Plan, size: int, messages: Streams, progress: Progress) -> Iterable[Row]:
    progress(f"{size:,} patterns: making them")
    column = patterns(size)
    index = CompiledIndex.build(column, "mqtt")
    build = min(seconds_of(partial(CompiledIndex.build, column, "mqtt")) for _ in range(3))
    compiled = Built(COMPILED, Engine(index.match, index), size, build, index.nbytes / size)
    others = list(_built(column.to_pylist(), plan, progress))
    # All engines agree on these, as far as they see the messages.
    matches = {stream: index.count(getattr(messages, stream)).to_numpy() for stream in STREAMS}
    best: dict[tuple[str, str], Row] = {}
    for turn in range(plan.turns):
        for built in (compiled, *others):
            progress(f"{size:,} patterns, turn {turn + 1} of {plan.turns}: {built.name}")
            if built is compiled:
                measured = _column_rows(plan, built, messages, matches)
            else:
                measured = _rows(plan, turn, built, messages, matches)
            for row in measured:
                key = row.engine, row.stream
                if key not in best or row.nanoseconds < best[key].nanoseconds:
                    best[key] = row
    return best.values()


def _built(texts: list[str], plan: Plan, progress: Progress) -> Iterator[Built]:
    """The engines that take one message at a time, one after the other."""

    def build(name: str, make: Callable[[], Engine]) -> Built:
        progress(f"{len(texts):,} patterns: building {name}")
        # The collector would otherwise go through everything that is there already, again and again.
        gc.collect()
        gc.freeze()
        made: list[Engine] = []
        seconds = seconds_of(lambda: made.append(make()))
        gc.freeze()
        weight = bytes_of(made[0].held) / len(texts) if len(texts) <= plan.weigh_up_to and name != UNCACHED else None
        return Built(name, made[0], len(texts), seconds, weight)

    live = build(LIVE, lambda: engines.live(texts))
    yield live
    # Built from patterns that are parsed already, and of the same weight but for the results that are kept.
    yield build(UNCACHED, lambda: engines.uncached(live.engine))._replace(seconds=live.seconds, weight=live.weight)
    paho = min((build(PAHO, lambda: engines.paho(texts)) for _ in range(2)), key=lambda built: built.seconds or 0.0)
    yield paho
    yield paho._replace(name=PAHO_CACHED, engine=engines.paho_cached(paho.engine))
    if len(texts) <= plan.brute_up_to:
        yield build(BRUTE, lambda: engines.brute_force(texts))._replace(weight=None)


def _rows(plan: Plan, turn: int, built: Built, messages: Streams, matches: dict[str, Counts]) -> Iterator[Row]:
    """What an engine takes that is given one message at a time."""
    for stream in STREAMS:
        subjects = getattr(messages, stream)
        length = plan.brute_piece if built.name == BRUTE else plan.piece
        length = min(length, len(subjects) // (2 * plan.rounds * plan.turns))
        # The first half of what is seen is not measured: it fills the caches, and its matches are compared.
        half = plan.rounds * length
        first = 2 * half * turn
        texts = subjects.slice(first, 2 * half).to_pylist()
        _check(built, texts[:half], matches[stream][first : first + half])
        pieces = [texts[start : start + length] for start in range(half, 2 * half, length)]
        seconds = min(seconds_of(partial(match_all, built.engine.match, piece)) for piece in pieces)
        yield built.row(stream, length, seconds, float(matches[stream].mean()))
    if built.name == LIVE:
        yield from _hit_rows(built, messages)


def _column_rows(plan: Plan, built: Built, messages: Streams, matches: dict[str, Counts]) -> Iterator[Row]:
    """What an engine takes that is given a stream at once."""
    match: Callable[[Any], Any] = built.engine.match
    for stream in STREAMS:
        subjects = getattr(messages, stream)
        seconds = min(seconds_of(partial(match, subjects)) for _ in range(plan.rounds))
        yield built.row(stream, len(subjects), seconds, float(matches[stream].mean()))


def _check(built: Built, texts: list[str], expected: Counts) -> None:
    """Each subject has as many matches as it is to have."""
    counts = np.fromiter(map(len, map(built.engine.match, texts)), np.int64, len(texts))
    wrong = np.flatnonzero(counts != expected)
    if len(wrong):
        raise AssertionError(f"{built.name} and {COMPILED} disagree about {texts[wrong[0]]!r}")


def _hit_rows(built: Built, messages: Streams) -> Iterator[Row]:
    """What a hit of the cache costs, beside a function that looks the subject up in a dict."""
    texts = messages.repeated.unique().slice(0, HITS).to_pylist()
    known: dict[str, Any] = {text: built.engine.match(text) for text in texts}

    def look_up(text: str) -> Any:
        return known[text]

    def look_up_and_copy(text: str) -> Any:
        return [*known[text]]

    matches = sum(map(len, known.values())) / len(known)
    dicts = ((DICT, look_up), (DICT_COPY, look_up_and_copy))
    for each in (built, *(Built(name, Engine(match, known), built.patterns) for name, match in dicts)):
        seconds = min(seconds_of(partial(match_all, each.engine.match, texts * 10)) for _ in range(5))
        yield each.row("hits", len(texts) * 10, seconds, matches)
