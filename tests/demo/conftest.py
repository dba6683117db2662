"""A small hour of the shop, made and decided once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.demo.check import SampleRun, sample
from pointsman.demo.events import Summary, make_events
from pointsman.table.routing_table import RoutingTable

ORDERS = 200


class Hour(NamedTuple):
    """What was made, and what ``decide`` says about each message of it."""

    folder: Path
    summary: Summary
    run: SampleRun


@pytest.fixture(scope="session")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Hour:
    """An hour with few orders; not to be changed."""
    folder = tmp_path_factory.mktemp("hour")
    summary = make_events(folder, orders=ORDERS)
    return Hour(folder, summary, run_over(summary, SampleRun(RoutingTable.load(TABLE, ENVIRONMENT))))


def run_over(summary: Summary, run: SampleRun) -> SampleRun:
    """The run, after it has decided about every message."""
    for file in summary.files:
        for received in sample(file, 1):
            run.add(received)
        run.end_batch()
    return run
