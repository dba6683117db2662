"""Every message that a broker accepts is delivered, dead or waiting, by every route that takes it, or is unrouted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import settings

from pointsman import Broker
from pointsman.broker.deliver import Nack, Received, Reject
from pointsman.errors import PointsmanError
from pointsman.table.decision import Decision
from pointsman.testing import Clock
from tests.pipeline.tables import NOW, Case, case_of

CASES = 60
FEWER = 10
KEPT = """
SELECT m.id, v.name FROM (SELECT sequence, via FROM ready UNION ALL SELECT sequence, via FROM delayed
      UNION ALL SELECT sequence, via FROM leased UNION ALL SELECT sequence, via FROM dead) AS kept
JOIN message AS m ON m.sequence = kept.sequence JOIN via AS v ON v.id = kept.via
"""
Ledger = Counter[tuple[str, str]]
"""How many deliveries a message has by a route, under its id and the name of the route."""


def handler(name: str, random: Random, delivered: Ledger) -> Callable[[Received], Any]:
    """Takes a delivery, fails in a way that may pass, or in one that cannot; now and then it takes its time."""

    async def handle(message: Received) -> None:
        fault = random.choice(["none", "none", "none", "error", "nack", "reject", "slow"])
        if fault == "error":
            raise RuntimeError(name)
        if fault == "nack":
            raise Nack("later", delay=random.choice([0.0, 60.0]))
        if fault == "reject":
            raise Reject("never")
        if fault == "slow":
            await asyncio.sleep(0)
        delivered[message.id, message.attempt.route] += 1

    return handle


async def run(case: Case, path: Path, random: Random) -> tuple[dict[str, int], Ledger, Ledger]:
    """How many deliveries each accepted message was given, what handlers took, and what the file still has.

    The broker is closed and opened again in the middle, with deliveries waiting.
    """
    accepted: dict[str, int] = {}
    delivered: Ledger = Counter()
    clock = Clock(NOW)
    half = len(case.sent) // 2
    settings = {"clock": clock, "random": random.random, "max_attempts": 2, "durability": "normal"}
    for part in (case.sent[:half], case.sent[half:]):
        broker = Broker(path, case.table, grace=60, **settings)
        for name in case.table.destinations:
            if random.random() < 0.8:
                broker.handler(name, concurrency=3)(handler(name, random, delivered))
        async with broker:
            for sent in part:
                if sent.message is not None:
                    try:
                        published = await broker.publish(sent.message, principal=sent.principal)
                        accepted[sent.id] = published.deliveries
                    except PointsmanError:
                        continue
            for _ in range(random.randrange(400)):
                await asyncio.sleep(0)
        clock.advance(30)
    async with Broker(path, case.table, **settings) as broker:
        with broker.queue.store.read() as connection:
            kept: Ledger = Counter((id, via.split("\0")[0]) for id, via in connection.execute(KEPT))
    return accepted, delivered, kept


def expected(case: Case, id: str) -> Decision:
    """What the table alone decides about a message."""
    sent = next(each for each in case.sent if each.id == id)
    assert sent.message is not None
    return case.table.decide(sent.message, case.state, now=NOW, principal=sent.principal)


def test_what_a_broker_accepts_adds_up(tmp_path: Path) -> None:
    """By id and route, with handlers that fail, are missing or are interrupted by a restart."""
    totals: Counter[str] = Counter()
    for number in range(CASES if settings().max_examples >= 150 else FEWER):
        random = Random(f"accounting {number}")
        case = case_of(random)
        accepted, delivered, kept = asyncio.run(run(case, tmp_path / f"{number}.db", random))
        for id, deliveries in accepted.items():
            decision = expected(case, id)
            taken = Counter(each.route for each in decision.deliveries)
            assert sum(taken.values()) == deliveries
            taken.update(problem.route for problem in decision.problems)
            for route, count in taken.items():
                assert delivered[id, route] + kept[id, route] == count, (number, id, route)
            totals["unrouted"] += not taken
        assert {id for id, _ in delivered + kept} <= set(accepted)
        totals["delivered"] += delivered.total()
        totals["kept"] += kept.total()
    assert min(totals["delivered"], totals["kept"], totals["unrouted"]) > 0
