"""The cases taken from real servers, through subscriptions of the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pointsman import RoutingTable
from pointsman.conformance import load_cases
from pointsman.errors import PatternError, SubjectError
from pointsman.testing import MemoryBroker
from tests.broker.running import in_loop

CASES = load_cases(Path(__file__).parents[1] / "conformance" / "match.json")
REACHED = """
SELECT m.id, s.name FROM ready AS r JOIN message AS m ON m.sequence = r.sequence
JOIN subscription AS s ON s.id = r.subscription
"""


@pytest.mark.parametrize("dialect", ["nats", "amqp", "zato", "mqtt"])
def test_a_published_subject_reaches_a_subscription_if_and_only_if_it_matches(dialect: str) -> None:
    """All patterns of the dialect are subscribed to in one broker, and all subjects published."""
    cases = [case for case in CASES if case["dialect"] == dialect]
    assert len(cases) > 50

    @in_loop
    async def run() -> None:
        async with MemoryBroker(RoutingTable.parse(f"dialect: {dialect}"), max_bytes=10) as broker:
            patterns = await subscribed(broker, list(dict.fromkeys(case["pattern"] for case in cases)))
            subjects = await published(broker, list(dict.fromkeys(case["subject"] for case in cases)))
            with broker.queue.store.read() as connection:
                reached = set(connection.execute(REACHED))
        for case in cases:
            pattern, subject = patterns.get(case["pattern"]), subjects.get(case["subject"])
            if pattern is None:
                assert case["matches"] is None, case
            elif subject is None:
                assert not case["matches"], case
            else:
                assert ((subject, pattern) in reached) == case["matches"], case

    run()


async def subscribed(broker: MemoryBroker, patterns: list[str]) -> dict[str, str]:
    """The names of the subscriptions, by their patterns; without those that are refused."""
    names: dict[str, Any] = {}
    for number, pattern in enumerate(patterns):
        try:
            subscription = broker.subscribe(pattern, name=f"s{number}")
        except PatternError:
            continue
        await subscription.aclose()
        names[pattern] = f"s{number}"
    return names


async def published(broker: MemoryBroker, subjects: list[str]) -> dict[str, str]:
    """The ids of the messages, by their subjects; without those that are refused."""
    ids = {}
    for number, subject in enumerate(subjects):
        try:
            ids[subject] = (await broker.publish(subject, id=f"m{number}")).id
        except SubjectError:
            continue
    return ids
