"""How long a call takes, on a machine that does other things as well."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

REPEATS = 5
LONG_ENOUGH = 0.05
"""Seconds that a round takes at the least, for some clocks tick every hundredth of a second."""


def microseconds(call: Callable[[], object]) -> float:
    """The CPU time of one call: the best of several rounds of many calls."""
    calls = 1
    while (spent := _round(call, calls)) < LONG_ENOUGH:
        calls *= 4
    return min(spent, *(_round(call, calls) for _ in range(REPEATS - 1))) / calls * 1e6


def _round(call: Callable[[], object], calls: int) -> float:
    started = process_time()
    for _ in range(calls):
        call()
    return process_time() - started
