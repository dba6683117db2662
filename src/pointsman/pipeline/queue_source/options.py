"""The options of the source, checked when a DataFrame is made of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from pointsman.errors import InputError

KNOWN = {
    "path": "path",
    "subscription": "subscription",
    "pattern": "pattern",
    "start": "start",
    "end": "end",
    "maxrows": "maxRows",
    "partitions": "partitions",
    "damaged": "damaged",
    "query": "query",
    "batch": "batch",
    "staging": "staging",
    "dialect": "dialect",
    "dedupe": "dedupe",
}
"""As they are compared, and as they are written."""
OF_SPARK = frozenset({"checkpointlocation", "queryname", "outputmode", "truncate"})
"""What Spark puts among the options of a source or sink by itself."""
DEDUPE = 3600.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the user said."""

    path: str
    """Of the queue's file, absolute."""
    subscription: str | None = None
    """None if none was named; the empty name is the queue itself."""
    pattern: str | None = None
    start: int | None = None
    """The number of the first message that is read."""
    end: int | None = None
    """The number of the last."""
    max_rows: int | None = None
    partitions: int | None = None
    skips_damaged: bool = False
    query: str | None = None
    batch: int | None = None
    staging: str = ""
    """The folder where tasks leave what is to be put."""
    dialect: str | None = None
    dedupe: float = DEDUPE


def read_options(given: Mapping[str, str]) -> Options:
    """The options. Raises ``InputError`` (``bad-usage``) for one that is missing, unknown or has a wrong value."""
    values = {name.lower(): value for name, value in given.items()}
    unknown = sorted(values.keys() - KNOWN.keys() - OF_SPARK)
    if unknown:
        raise InputError("bad-usage", f"there is no option {unknown[0]!r}; there are {', '.join(KNOWN.values())}")
    path = values.get("path")
    if not path:
        raise InputError("bad-usage", "the option 'path' is missing: the file of the queue")
    if "://" in path or path.startswith("file:"):
        raise InputError("bad-usage", f"the path {path!r} is no path of this machine; the queue is one SQLite file")
    damaged = values.get("damaged", "fail")
    if damaged not in ("fail", "skip"):
        raise InputError("bad-usage", f"the option 'damaged' is {damaged!r}, not 'fail' or 'skip'")
    query, batch = values.get("query"), _number(values, "batch", 0)
    if (query is None) != (batch is None):
        raise InputError("bad-usage", "the options 'query' and 'batch' belong together: one of them is missing")
    absolute = os.path.abspath(path)  # noqa: PTH100, as the queue itself does
    return Options(
        absolute,
        values.get("subscription"),
        values.get("pattern"),
        _number(values, "start", 0),
        _number(values, "end", 0),
        _number(values, "maxrows", 1),
        _number(values, "partitions", 1),
        damaged == "skip",
        query,
        batch,
        values.get("staging") or f"{absolute}-staging",
        values.get("dialect"),
        _seconds(values, "dedupe", DEDUPE),
    )


def _number(values: Mapping[str, str], name: str, least: int) -> int | None:
    text = values.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < least:
        raise InputError("bad-usage", f"the option {KNOWN[name]!r} is {text!r}, not a whole number from {least}")
    return int(text)


def _seconds(values: Mapping[str, str], name: str, default: float) -> float:
    text = values.get(name)
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise InputError("bad-usage", f"the option {KNOWN[name]!r} is {text!r}, not a number of seconds from 0")
    return seconds
