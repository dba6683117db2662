"""What one transaction changes of matchers and patterns, as those take it up that have them in memory.

The last changes stand in the file, a line each and the latest first, beside the version that they lead to. Whoever asks
for that version has read them, and need not look for them in large tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pointsman.subscriptions.leaf_rows import LeafRow

ROOM = 1000
"""Bytes for the last changes: the row that they are in has to fit into a page of the file."""


@dataclass(slots=True)
class Noted:
    """The change, by the numbers of matchers and patterns; what is new may be gone again."""

    matchers: list[tuple[LeafRow, int]] = field(default_factory=list)
    """New ones."""
    gates: list[int] = field(default_factory=list)
    """Matchers by which subscriptions are found; they may have been so before."""
    gone_matchers: list[tuple[LeafRow, int]] = field(default_factory=list)
    patterns: list[tuple[tuple[str, str], int]] = field(default_factory=list)
    """New ones: text and dialect."""
    gone_patterns: list[tuple[tuple[str, str], int]] = field(default_factory=list)


def add_to_recent(recent: str, before: int, after: int, noted: Noted) -> str:
    """The last changes and one more, which led from one version to another, as far as there is room."""
    parts = (noted.matchers, noted.gates, noted.gone_matchers, noted.patterns, noted.gone_patterns)
    kept = f"{json.dumps((before, after, *parts), separators=(',', ':'))}\n{recent}"
    return kept if len(kept) <= ROOM else kept[: kept.rfind("\n", 0, ROOM) + 1]


def recent_between(recent: str, before: int, after: int) -> list[Noted] | None:
    """All that led from one version to the present one; None if that is not among the last changes.

    >>> recent = add_to_recent("", 1, 2, Noted(gates=[7]))
    >>> recent = add_to_recent(recent, 2, 4, Noted(gates=[8]))
    >>> [noted.gates for noted in recent_between(recent, 1, 4)]
    [[7], [8]]
    >>> [noted.gates for noted in recent_between(recent, 2, 4)]
    [[8]]

    What is too much to be noted leaves a gap:

    >>> recent_between(recent, 0, 4), recent_between(recent, 2, 5), recent_between(recent, 3, 4)
    (None, None, None)
    """
    found: list[Noted] = []
    start = 0
    while start < len(recent):
        # Only as many of them as are needed, as this has to be quick.
        end = recent.index("\n", start)
        began, ended, *change = json.loads(recent[start:end])
        if ended != after:
            return None
        found.append(Noted(*change))
        after, start = began, end + 1
        if after == before:
            return found[::-1]
    return None
