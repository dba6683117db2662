"""Metadata conditions: the index of matchers against what one would write without it.

Three streams of messages of five values each: distinct (hardly a value comes twice), repeated (a few values make most
of them), and missing (nearly nothing matches). The peers are a loop over all matchers, each compiled to a regular
expression, and a dict of the exact terms with a loop over the others; all count the same matches or the run fails.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from time import process_time
from typing import Any

import pyarrow as pa

from pointsman.bench.terms_data import METADATA, Message, make_matchers, make_messages, matcher_array, repeated
from pointsman.bench.timing import microseconds
from pointsman.matching.terms import Matcher, TermIndex, lexemes

LOOP_LIMIT = 1_000
DICT_LIMIT = 10_000
Count = Callable[[list[Message]], int]
Streams = dict[str, list[Message]]


@dataclass(frozen=True, slots=True)
class Row:
    """One engine with so many matchers; nanoseconds a message for each stream."""

    engine: str
    matchers: int
    build_seconds: float
    bytes_per_matcher: float | None
    matches: float
    """Of a message of the distinct stream."""
    distinct: float
    repeated: float
    missing: float

    def as_dict(self) -> dict[str, str | int | float | None]:
        """For ``--json``."""
        return asdict(self)


def run(quick: bool = False) -> list[Row]:
    """The measurements; ``quick`` leaves out the largest table and takes fewer messages."""
    sizes = (1_000, 10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    count = 10_000 if quick else 20_000
    _index([Matcher("title", "a*")])[0].match(pa.array([[("title", "warm up")]], METADATA))
    rows = []
    for size in sizes:
        matchers, texts = make_matchers(size)
        distinct = list(make_messages(matchers, texts, count))
        streams = {
            "distinct": distinct,
            "repeated": list(repeated(distinct, count)),
            "missing": list(make_messages([], [], count, seed=17)),
        }
        rows.append(_measure_index(matchers, streams))
        if size <= DICT_LIMIT:
            rows.append(_measure_peer("dict and re", dict_and_re, matchers, streams, 400_000 // size))
        if size <= LOOP_LIMIT:
            rows.append(_measure_peer("re", only_re, matchers, streams, 60))
    return rows


def _index(matchers: list[Matcher]) -> tuple[TermIndex, float]:
    column = matcher_array(matchers)
    started = process_time()
    return TermIndex.build(column), process_time() - started


def _pairs(index: TermIndex, column: Any) -> int:
    return sum(batch.num_rows for batch in index.match_batches(column))


def _measure_index(matchers: list[Matcher], streams: Streams) -> Row:
    index, seconds = _index(matchers)
    columns = {name: pa.array(messages, METADATA) for name, messages in streams.items()}
    times = {name: microseconds(partial(_pairs, index, column)) / len(column) * 1e3 for name, column in columns.items()}
    matches = _pairs(index, columns["distinct"]) / len(streams["distinct"])
    return Row("TermIndex", len(matchers), seconds, index.nbytes / len(matchers), matches, **times)


def _measure_peer(
    name: str, make: Callable[[list[Matcher]], Count], matchers: list[Matcher], streams: Streams, sample: int
) -> Row:
    started = process_time()
    count = make(matchers)
    seconds = process_time() - started
    index, _ = _index(matchers)
    times = {}
    for stream, messages in streams.items():
        few = messages[:sample]
        if count(few) != _pairs(index, pa.array(few, METADATA)):
            raise AssertionError(f"{name} and the index disagree on the {stream} stream")
        times[stream] = microseconds(partial(count, few)) / sample * 1e3
    return Row(name, len(matchers), seconds, None, count(streams["distinct"][:sample]) / sample, **times)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """What a pattern means, as a regular expression."""
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)


def only_re(matchers: list[Matcher]) -> Count:
    """Counts pairs by trying every matcher on every message."""
    rules = [(matcher.key, matcher.partial, compile_pattern(matcher.pattern).fullmatch) for matcher in matchers]

    def count(messages: list[Message]) -> int:
        total = 0
        for message in messages:
            wholes = {key: [value] for key, value in message}
            parts = {key: lexemes(value) for key, value in message}
            for key, is_partial, matches in rules:
                total += any(matches(text) for text in (parts if is_partial else wholes)[str(key)])
        return total

    return count


def dict_and_re(matchers: list[Matcher]) -> Count:
    """Counts pairs by looking up exact terms and trying the matchers of the key that have wildcards."""
    exact: defaultdict[tuple[str | None, bool, str], int] = defaultdict(int)
    wild: defaultdict[tuple[str | None, bool], list[Callable[[str], Any]]] = defaultdict(list)
    for matcher in matchers:
        if "*" in matcher.pattern or "?" in matcher.pattern:
            wild[matcher.key, matcher.partial].append(compile_pattern(matcher.pattern).fullmatch)
        else:
            exact[matcher.key, matcher.partial, matcher.pattern] += 1

    def count(messages: list[Message]) -> int:
        total = 0
        for message in messages:
            for key, value in message:
                for is_partial, texts in ((False, {value}), (True, set(lexemes(value)))):
                    total += sum(exact.get((key, is_partial, text), 0) for text in texts)
                    total += sum(any(map(matches, texts)) for matches in wild[key, is_partial])
        return total

    return count
