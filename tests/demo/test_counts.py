"""Rows of sagas and gatherings as counts, without Spark."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from pointsman.demo.counts import Followed, SagaStep, Tale, followed_of_rows

START = datetime(2026, 1, 1, tzinfo=UTC)
SUBJECTS = {"m1": "begin", "m2": "end", "m3": "begin", "m4": "end"}


def row(kind: str, correlation_id: str, second: int, number: int, outcome: str | None, **fields: Any) -> dict[str, Any]:
    """A row as ``follow`` gives it."""
    empty = {"route": None, "path": None, "subject": None, "causation_id": None}
    known = {"kind": kind, "correlation_id": correlation_id, "number": number, "outcome": outcome}
    return empty | known | {"time": START.replace(second=second)} | fields


ROWS = [
    row("move", "x", 2, 9, "completed", path=["home"], causation_id="m2"),
    row("command", "x", 1, 1, None, subject="pack", causation_id="m1"),
    row("move", "x", 1, 2, "moved", path=["out", "away"], causation_id="m1"),
    row("move", "y", 1, 3, "moved", path=["away"], causation_id="m3"),
    row("command", "y", 8, 4, None, subject="search"),
    row("move", "y", 8, 5, "compensated", path=["lost"]),
    row("move", "y", 9, 6, "ignored", causation_id="m4"),
    row("move", "z", 9, 7, "problem", causation_id="m5"),
    row("request", "q", 1, 1, "asked", route="ask"),
    row("request", "q", 1, 2, "duplicate", route="ask"),
    row("answer", "q", 2, 3, "taken", route="ask"),
    row("result", "q", 6, 4, "timeout", route="ask"),
    row("answer", "q", 7, 5, "late", route="ask"),
    row("answer", "p", 7, 6, "problem", route="ask"),
    row("request", "r", 8, 7, "asked", route="ask"),
]


def test_rows_in_any_order_become_counts_and_tales() -> None:
    """Two sagas, a gathering that ended and one that is open."""
    begin = START.timestamp()
    assert followed_of_rows(reversed(ROWS), SUBJECTS) == Followed(
        sagas=Counter({"finished": 1, "timed out": 1}),
        saga_states=Counter({"home": 1, "lost": 1}),
        commands=Counter({"pack": 1, "search": 1}),
        unmoved=Counter({"ignored": 1, "unknown": 1}),
        gatherings=Counter({("ask", "timeout"): 1, ("ask", "open"): 1}),
        dropped=Counter({("ask", "late"): 1, ("ask", "unknown"): 1}),
        tales=(
            Tale(
                "x",
                "finished",
                (
                    SagaStep(begin + 1, "begin", ("out", "away"), ("pack",)),
                    SagaStep(begin + 2, "end", ("home",), ()),
                ),
            ),
            Tale(
                "y",
                "timed out",
                (
                    SagaStep(begin + 1, "begin", ("away",), ()),
                    SagaStep(begin + 8, None, ("lost",), ("search",)),
                    SagaStep(begin + 9, "end", (), ()),
                ),
            ),
        ),
    )
