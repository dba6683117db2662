"""The short form of the crash test; ``make crash`` runs the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.broker_rounds import BrokerRounds
from tests.crash.pipeline_rounds import PipelineRounds
from tests.crash.rounds import Rounds

ROUNDS = 20
BROKER_ROUNDS = 10
PIPELINE_ROUNDS = 3


def test_nothing_is_lost_when_producers_and_consumers_are_killed(tmp_path: Path) -> None:
    """What was accepted is delivered, what was acknowledged is not delivered again, whoever is killed when."""
    outcome = Rounds(tmp_path, seed=20).run(ROUNDS)
    assert outcome.wrong == []
    assert outcome.counts["kills"] >= ROUNDS
    for happened in ("put", "deliveries", "acknowledged", "delivered again"):
        assert outcome.counts[happened] > 0, f"nothing was tested: {happened} {outcome.counts}"


def test_state_and_deliveries_agree_when_brokers_are_killed(tmp_path: Path) -> None:
    """What was published is handled; sagas and their commands, gatherings and their results are there together."""
    outcome = BrokerRounds(tmp_path, seed=20).run(BROKER_ROUNDS)
    assert outcome.wrong == []
    assert outcome.counts["kills"] >= BROKER_ROUNDS
    for happened in ("published", "orders", "gatherings"):
        assert outcome.counts[happened] > 0, f"nothing was tested: {happened} {outcome.counts}"


@pytest.mark.spark
def test_a_pipeline_that_is_killed_delivers_everything_once(tmp_path: Path) -> None:
    """Every message, and every command of a saga, is in the files and in the queue once; every saga has ended once."""
    outcome = PipelineRounds(tmp_path, seed=17998, share=16, most=40).run(PIPELINE_ROUNDS)
    assert outcome.wrong == []
    assert outcome.counts["kills"] >= PIPELINE_ROUNDS
    for happened in ("messages", "orders", "commands", "batches", "watched"):
        assert outcome.counts[happened] > 0, f"nothing was tested: {happened} {outcome.counts}"
