"""A run over twenty messages whose outcome was worked out by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from pointsman.demo.counts import Counts, Flow, Refusal, SagaStep, Tale
from pointsman.demo.expected import decide_all
from pointsman.table.routing_table import RoutingTable

TABLE = """
destinations: {log: , left: , right: , one: , two: }
routes:
  - {name: log, pattern: "a.>", destinations: [log]}
  - {name: turn, pattern: a.b, strategy: balanced, balance: round-robin, destinations: [left, right]}
  - name: ask
    pattern: ask
    strategy: scatter-gather
    gather: {timeout: 5, answers: answer}
    destinations: [one, two]
access:
  known: {publish: [a.>, ask, answer, begin, end]}
sagas:
  trip:
    starts: [{on: begin, to: away, send: [pack], undo: [unpack]}]
    states:
      away:
        edges: [{on: end, to: home}]
        timeout: {after: 10, to: lost, send: [search]}
      lost: {then: {to: gone, compensate: all}}
      home: {final: true}
      gone: {final: true}
"""
BEGIN = 1_767_225_600.0
"""The year 2026, in seconds."""


def message(second: int, subject: str | None, principal: str | None = "known", **fields: object) -> str:
    """A line."""
    known = {"id": f"{second}-{subject}", "time": f"2026-01-01T00:00:{second:02}Z", "principal": principal, **fields}
    return json.dumps(known | ({} if subject is None else {"subject": subject})) + "\n"


FIRST = [
    message(0, "a.b"),
    message(1, "a.b"),
    message(2, "a.c"),
    message(3, "a.b"),
    message(4, "begin", correlation_id="x"),
    message(5, "begin", correlation_id="y"),
    message(6, "end", correlation_id="x"),
    message(7, "end", correlation_id="nobody"),
]
SECOND = [
    message(10, "ask", correlation_id="q"),
    message(11, "answer", correlation_id="q", metadata={"target": "one"}),
    message(12, "ask", correlation_id="r"),
    message(13, "answer", correlation_id="r", metadata={"target": "one"}),
    message(14, "answer", correlation_id="r", metadata={"target": "two"}),
    message(16, "answer", correlation_id="q", metadata={"target": "two"}),
    message(17, "end", correlation_id="y"),
    message(18, "b.c"),
    message(19, "a.b", "stranger"),
    message(20, "a..b", None),
    message(21, None, None),
    message(22, "b.c", None),
]


def test_twenty_messages_come_to_what_was_worked_out_by_hand(tmp_path: Path) -> None:
    """Routes in turn, a saga that finishes and one that times out, a gathering of all and one that ends by time."""
    (tmp_path / "1.jsonl").write_text("".join(FIRST))
    (tmp_path / "2.jsonl").write_text("".join(SECOND))
    found = decide_all(tmp_path, RoutingTable.parse(TABLE))
    expected = Counts(
        messages=20,
        routed=6,
        deliveries=Counter(
            {
                Flow("a", "log", "log"): 4,
                Flow("a", "turn", "left"): 2,
                Flow("a", "turn", "right"): 1,
                Flow("ask", "ask", "one"): 2,
                Flow("ask", "ask", "two"): 2,
            }
        ),
        quarantined=Counter(
            {
                Refusal(
                    "b", "authorize", "publish-refused", "… may not publish to …: none of its 5 publish rules matches"
                ): 1,
                Refusal("a", "authorize", "publish-refused", "there is no principal …"): 1,
                Refusal("a", "resolve", "empty-token", "token 2 of the nats subject is empty"): 1,
                Refusal("", "receive", "bad-message", "the subject is missing"): 1,
            }
        ),
        unrouted=Counter({"begin": 2, "end": 3, "answer": 4, "b": 1}),
        sagas=Counter({"finished": 1, "timed out": 1}),
        saga_states=Counter({"home": 1, "gone": 1}),
        commands=Counter({"pack": 2, "search": 1, "unpack": 1}),
        unmoved=Counter({"ignored": 1, "unknown": 1}),
        gatherings=Counter({("ask", "all"): 1, ("ask", "timeout"): 1}),
        dropped=Counter({("ask", "late"): 1}),
        tales=(
            Tale(
                "x",
                "finished",
                (
                    SagaStep(BEGIN + 4, "begin", ("away",), ("pack",), ()),
                    SagaStep(BEGIN + 6, "end", ("home",), (), ()),
                ),
            ),
            Tale(
                "y",
                "timed out",
                (
                    SagaStep(BEGIN + 5, "begin", ("away",), ("pack",), ()),
                    SagaStep(BEGIN + 15, None, ("lost", "gone"), ("search", "unpack"), ("unpack",)),
                    SagaStep(BEGIN + 17, "end", (), (), ()),
                ),
            ),
        ),
    )
    assert found.differences(expected) == []
    assert found == expected
    assert found.adds_up
