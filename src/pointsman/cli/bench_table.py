"""What all tables of ``pointsman bench`` are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pointsman.bench.required import Required


class Table(NamedTuple):
    """A table to be printed."""

    title: str
    headings: Sequence[str]
    texts: int
    """How many of the first columns are texts."""
    rows: Sequence[Sequence[str]]


def must_hold(required: Sequence[Required]) -> Table:
    """What must hold, and whether it does."""
    return Table(
        "Must hold",
        ("what", "measured", "limit", ""),
        1,
        [
            (
                each.what,
                f"{each.measured:,.2f}",
                f"{'at least' if each.at_least else 'at most'} {each.limit:,.6g}",
                "held" if each.held else "not held",
            )
            for each in required
        ],
    )
