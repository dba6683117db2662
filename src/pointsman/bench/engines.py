"""What the benchmark of matching compares: each engine as a function from a subject to all that matches it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Sized
from functools import lru_cache
from typing import Any, NamedTuple, cast

from pointsman.errors import MissingExtraError
from pointsman.matching.live import CACHE_SIZE, SubjectIndex
from pointsman.patterns import Pattern

Match = Callable[[str], Sized]


class Engine(NamedTuple):
    """An engine that holds the patterns."""

    match: Match
    held: object
    """What it keeps, to be weighed."""


def live(patterns: Iterable[str | Pattern], cache_size: int = CACHE_SIZE) -> Engine:
    """``SubjectIndex``, with its cache unless told otherwise."""
    index: SubjectIndex[int] = SubjectIndex("mqtt", cache_size)
    for number, pattern in enumerate(patterns):
        index.add(pattern, number)
    return Engine(index.match, index)


def uncached(engine: Engine) -> Engine:
    """The same ``SubjectIndex`` again, without its cache."""
    index = cast("SubjectIndex[int]", engine.held)
    return live((pattern for pattern, _ in index), 0)


def paho(patterns: Sequence[str]) -> Engine:
    """``MQTTMatcher`` of paho-mqtt; raises ``MissingExtraError`` without that package."""
    try:
        from paho.mqtt.matcher import MQTTMatcher
    except ImportError:
        raise MissingExtraError("bench", "paho-mqtt") from None
    matcher: Any = MQTTMatcher()  # type: ignore[no-untyped-call]  # paho has no types there
    for number, pattern in enumerate(patterns):
        matcher[pattern] = number

    def match(subject: str) -> Sized:
        return list(matcher.iter_match(subject))

    return Engine(match, matcher)


def paho_cached(engine: Engine) -> Engine:
    """``MQTTMatcher`` behind Python's own cache, as large as that of ``SubjectIndex``."""
    return Engine(lru_cache(CACHE_SIZE)(engine.match), engine.held)


def brute_force(patterns: Sequence[str]) -> Engine:
    """Every pattern as a regular expression, one after the other."""
    tests = [re.compile(_expression(pattern)).fullmatch for pattern in patterns]

    def match(subject: str) -> Sized:
        return [number for number, test in enumerate(tests) if test(subject)]

    return Engine(match, tests)


def _expression(pattern: str) -> str:
    """The same in the language of ``re``; no pattern of the benchmark begins with ``#``."""
    tokens = [{"+": "[^/]*", "#": ".*"}.get(token, re.escape(token)) for token in pattern.split("/")]
    return "/".join(tokens).removesuffix("/.*") + ("(?:/.*)?" if pattern.endswith("/#") else "")
