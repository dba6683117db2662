"""A small hour of the shop, made and decided once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.demo.counts import Counts
from pointsman.demo.events import Summary, make_events
from pointsman.demo.expected import decide_all
from pointsman.table.routing_table import RoutingTable

ORDERS = 400


class Hour(NamedTuple):
    """What was made, and what the table makes of it."""

    folder: Path
    summary: Summary
    table: RoutingTable
    counts: Counts


@pytest.fixture(scope="session")
def hour(tmp_path_factory: pytest.TempPathFactory) -> Hour:
    """An hour with few orders; not to be changed."""
    folder = tmp_path_factory.mktemp("hour")
    summary = make_events(folder, orders=ORDERS)
    table = RoutingTable.load(TABLE, ENVIRONMENT)
    return Hour(folder, summary, table, decide_all(folder, table))
