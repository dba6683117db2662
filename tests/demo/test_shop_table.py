"""The routing table of the demo."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from pointsman.demo import ENVIRONMENT, TABLE
from pointsman.destinations.registry import make_sink
from pointsman.table.check import check_file
from pointsman.table.loading.schema import BalanceName, StrategyName
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.expectations import run_expectations


@pytest.mark.parametrize("environment", [None, ENVIRONMENT, "development"])
def test_check_finds_nothing(environment: str | None) -> None:
    """Not even a note."""
    assert check_file(TABLE, environment) == []


@pytest.mark.parametrize("environment", [None, ENVIRONMENT])
def test_its_expectations_are_met_and_name_every_route(environment: str | None) -> None:
    """In the environment of the demo as in none."""
    table = RoutingTable.load(TABLE, environment)
    outcomes = list(run_expectations(table))
    assert [outcome.problems for outcome in outcomes if not outcome.passed] == []
    taken = {route for outcome in outcomes if outcome.decision for route in outcome.decision.routes}
    assert taken == {route.name for route in table.routes}


def test_it_uses_every_strategy() -> None:
    """Also a breaker with a fallback, translations, access, a saga and environments; random balance is no use here."""
    table = RoutingTable.load(TABLE)
    assert {route.strategy for route in table.routes} == set(get_args(StrategyName))
    assert {route.balance.value for route in table.routes if route.balance} == set(get_args(BalanceName)) - {"random"}
    assert [each.fallback for each in table.destinations.values() if each.breaker] == ["parking"]
    assert table.translations
    assert table.access
    assert list(table.sagas) == ["order"]
    assert RoutingTable.load(TABLE, "development").hash != table.hash


def test_the_broker_can_open_every_destination(tmp_path: Path) -> None:
    """Each has options that its type knows; handlers come from whoever runs the broker."""
    table = RoutingTable.load(TABLE)
    types = {each.type for each in table.written.destinations.values() if each is not None}
    assert types == {"folder", "file", "queue"}
    for name, each in table.written.destinations.items():
        if each is not None:
            make_sink(name, each.type, each.options, tmp_path)


def test_the_pipeline_writes_every_destination_to_a_folder_of_its_own() -> None:
    """No two share one."""
    table = RoutingTable.load(TABLE, ENVIRONMENT)
    written = [each for each in table.written.destinations.values() if each is not None]
    assert len(written) == len(table.destinations)
    assert {each.type for each in written} == {"folder"}
    assert len({each.options["path"] for each in written}) == len(written)
