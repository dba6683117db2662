"""Gatherings as a stream: complete by all, by a quorum, by the time; late, foreign and double answers counted."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pointsman.message import Message
from pointsman.pipeline.correlation import gather
from tests.pipeline.correlation.reference import TABLE, event
from tests.pipeline.correlation.streams import SCHEMA, Stream

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

START = 1_000_000.0


def ask(route: str, case: str, time: float = 0.0, **fields: Any) -> Message:
    """A request."""
    metadata = {"reply-to": f"inbox.{case}"}
    return event(f"{route}.ask", f"ask {case}", case, START + time, metadata=metadata, **fields)


def answer(route: str, case: str, target: str, price: object, time: float = 1.0, id: str = "") -> Message:
    """An answer."""
    body = json.dumps({"price": price}).encode()
    made = f"{case} {target} {price} {time} {id}"
    return event(f"{route}.answer", made, case, START + time, metadata={"target": target}, body=body)


FIRST = [
    ask("prices", "all"),
    *(answer("prices", "all", target, price) for target, price in (("one", 3), ("two", 1), ("three", 2))),
    answer("prices", "all", "one", 9, 2),
    ask("stock", "quorum"),
    answer("stock", "quorum", "two", 9007199254740993, 1),
    answer("stock", "quorum", "one", 6.0, 2),
    answer("stock", "quorum", "three", 7, 3),
    ask("prices", "timeout"),
    ask("prices", "timeout"),
    answer("prices", "timeout", "three", 8),
    answer("prices", "timeout", "four", 1),
    answer("prices", "unasked", "one", 1),
    event("prices.ask", "ask silent", "silent", START + 2),
    ask("prices", "in the next batch", 4),
]
SECOND = [
    answer("prices", "timeout", "one", 1, 6),
    *(answer("prices", "in the next batch", target, 4, 7) for target in ("two", "one", "three")),
    event("clock.tick", "tick", "clock", START + 1000),
]


def test_gatherings_complete_by_all_by_a_quorum_or_by_the_time(spark: SparkSession, tmp_path: Path) -> None:
    """Through a restart, in the order of the positions, with the results that the broker would send."""

    def make(messages: Any) -> Any:
        return gather(messages.withWatermark("time", "0 seconds"), TABLE, buckets=2, time_mode="eventTime")

    running = Stream(spark, tmp_path, make, f"{SCHEMA}, position int")
    running.add(FIRST)
    running.run()
    running.add(SECOND)
    rows = running.run()
    outcomes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["time"], row["number"])):
        outcomes[row["correlation_id"]].append((row["kind"], row["outcome"]))
    asked, taken = ("request", "asked"), ("answer", "taken")
    assert outcomes == {
        "all": [asked, taken, taken, taken, ("result", "all"), ("answer", "duplicate")],
        "quorum": [asked, taken, taken, ("result", "quorum"), ("answer", "late")],
        "timeout": [
            asked,
            ("request", "duplicate"),
            taken,
            ("answer", "foreign"),
            ("result", "timeout"),
            ("answer", "late"),
        ],
        "unasked": [("answer", "problem")],
        "silent": [asked, ("result", "timeout")],
        "in the next batch": [asked, taken, taken, taken, ("result", "all")],
    }
    results = {row["correlation_id"]: row for row in rows if row["kind"] == "result"}
    bodies = {case: json.loads(row["body"]) for case, row in results.items()}
    assert bodies["all"] == {
        "result": {"price": 1},
        "source": "two",
        "answers": [["one", {"price": 3}], ["two", {"price": 1}], ["three", {"price": 2}]],
        "missing": [],
        "reason": "all",
    }
    # Numbers keep their value and kind.
    assert b'"result": [{"price": 9007199254740993}, {"price": 6.0}]' in bytes(results["quorum"]["body"])
    assert (bodies["timeout"]["source"], bodies["timeout"]["missing"]) == ("three", ["one", "two"])
    assert (bodies["silent"]["result"], bodies["silent"]["missing"]) == (None, ["one", "two", "three"])
    assert {case: row["subject"] for case, row in results.items()} == {
        case: None if case == "silent" else f"inbox.{case}" for case in results
    }
    assert {(row["content_type"], *row["metadata"].items()) for row in results.values()} == {
        ("application/json", ("gathered", "prices")),
        ("application/json", ("gathered", "stock")),
    }
    assert len({row["id"] for row in results.values()}) == len(results)
