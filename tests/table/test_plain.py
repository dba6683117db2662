"""A table as plain data, and back: the same hash and the same decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pointsman.errors import TableError
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from pointsman.table.tools.expectations import message_of

SHOP = Path(__file__).parents[2] / "examples" / "shop.yaml"


@pytest.mark.parametrize("environment", [None, "development", "staging", "production"])
def test_a_table_read_from_its_plain_data_is_the_same_table(environment: str | None) -> None:
    """By its hash, and by what it decides about every message that it has an expectation for, traces included."""
    table = RoutingTable.load(SHOP, environment)
    again = RoutingTable.from_plain(json.loads(json.dumps(table.plain)))
    assert again.hash == table.hash
    assert again.written.expectations == table.written.expectations
    one, other = State(), State()
    for expectation in table.written.expectations:
        message, principal = message_of(expectation.message), expectation.principal
        first = table.decide(message, one, now=1.0, principal=principal, trace=True)
        second = again.decide(message, other, now=1.0, principal=principal, trace=True)
        assert second.as_dict() == first.as_dict()
        one, other = first.state, second.state
        assert other.as_data() == one.as_data()


def test_the_environment_is_in_the_data_already() -> None:
    """So it is not chosen again, and no other can be."""
    tables = [RoutingTable.load(SHOP, environment) for environment in ("development", "staging")]
    assert len({RoutingTable.from_plain(table.plain).hash for table in tables}) == 2
    assert all("environments" not in table.plain for table in tables)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "access: {}",
        'name: "\\u2028 \\x85 \\x7f é \\U0001F600 \\" \\\\ \\0"',
        "destinations: {a: {options: {large: 1e999, small: -1.5e-7, whole: 123456789012345678, '1': null}}}",
    ],
)
def test_whatever_a_table_may_say_goes_through_json(text: str) -> None:
    """The empty table, odd characters and odd numbers among it."""
    table = RoutingTable.parse(text)
    again = RoutingTable.from_plain(json.loads(json.dumps(table.plain)))
    assert again.hash == table.hash
    assert again.plain == table.plain
    assert again.written == table.written
    assert (again.access is None) == (table.access is None)


def test_plain_data_that_is_no_table_is_refused() -> None:
    """With every mistake, in the file that was named."""
    with pytest.raises(TableError) as caught:
        RoutingTable.from_plain({"routes": [{"name": "a", "pattern": "a..b", "destinations": ["b"]}], "x": 1}, "made")
    assert [(error.code, error.file) for error in caught.value.failures] == [
        ("unknown-key", "made"),
        ("empty-token", "made"),
    ]
