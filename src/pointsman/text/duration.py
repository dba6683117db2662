"""Durations as people write them: ``30s``, ``1.5m``, ``7d``."""

from __future__ import annotations

import re

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|h|d)")
NO_DURATION = "a duration is a number of seconds, or a number with ms, s, m, h or d"


def parse_duration(text: str) -> float:
    """The seconds of a number with its unit. Raises ValueError for any other text.

    >>> parse_duration("1.5m"), parse_duration("250 ms"), parse_duration("7d")
    (90.0, 0.25, 604800.0)
    """
    found = DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(NO_DURATION)
    return float(found[1]) * UNITS[found[2]]
