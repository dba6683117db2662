"""What the live resolver sends to SQLite: each statement by the index that it is meant to use."""

from __future__ import annotations

import re
from array import array

import apsw
import pytest

from pointsman.store.queue import Queue
from pointsman.subscriptions import live_statements as statements
from pointsman.subscriptions.matches import Spill
from pointsman.subscriptions.registry import Registry
from tests.subscriptions.test_registry import EVERYTHING

TEXTS = {name: text for name, text in vars(statements).items() if name.isupper() and isinstance(text, str)}
LIST = "SCAN c VIRTUAL TABLE INDEX 1:"

IN_THE_FILE = {
    "MATCHERS_AFTER": (
        "SEARCH m USING INTEGER PRIMARY KEY (rowid>?)",
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH u USING PRIMARY KEY (matcher=? AND gate=?)",
    ),
    "CHANGES": (
        "COMPOUND QUERY",
        "LEFT-MOST SUBQUERY",
        "SEARCH wildcard_subscription USING INDEX wildcard_subscription_by_version (version>?)",
        "UNION ALL",
        "SEARCH wildcard_gone USING INTEGER PRIMARY KEY (rowid>?)",
        "UNION ALL",
        "SEARCH m USING INTEGER PRIMARY KEY (rowid>?)",
        "CORRELATED SCALAR SUBQUERY 3",
        "SEARCH u USING PRIMARY KEY (matcher=? AND gate=?)",
    ),
    "BEHIND_GATES": (LIST, "SEARCH u USING PRIMARY KEY (matcher=? AND gate=? AND subscription>?)"),
    "SUBSCRIPTIONS": (LIST, "SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"),
}
OF_ITS_OWN = {
    "REGISTER": ("SCAN carray VIRTUAL TABLE INDEX 1:",),
    "REGISTERED_AFTER": ("SEARCH registered USING PRIMARY KEY (message=? AND subscription>?)",),
    "REGISTERED_FORGET": ("SEARCH registered USING PRIMARY KEY (message=?)",),
    "GATHER": (),
    "GATHERED_AFTER": ("SEARCH gathered USING PRIMARY KEY (message=? AND (destination,owner)>(?,?))",),
    "GATHERED_COUNT": ("SEARCH gathered USING PRIMARY KEY (message=?)",),
    "GATHERED_FORGET": ("SEARCH gathered USING PRIMARY KEY (message=?)",),
}


def plan_of(connection: apsw.Connection, text: str) -> tuple[str, ...]:
    """What SQLite says about a statement."""
    numbered = [int(number) for number in re.findall(r"\?(\d+)", text)]
    parameters: list[object] = [1] * (max(numbered) if numbered else text.count("?"))
    given = re.search(r"carray\(\?(\d)", text)
    if given is not None:
        parameters[int(given[1]) - 1] = apsw.carray(array("q", [1]))
    return tuple(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters))


@pytest.mark.parametrize("name", IN_THE_FILE)
def test_a_statement_on_the_file_goes_by_its_index(name: str) -> None:
    """As SQLite explains it, on a file with something in it."""
    with Queue(":memory:") as queue:
        for subscription in EVERYTHING:
            Registry(queue.store).create(subscription)
        assert plan_of(queue.store.writer.connection, TEXTS[name]) == IN_THE_FILE[name]


@pytest.mark.parametrize("name", OF_ITS_OWN)
def test_a_statement_on_what_is_registered_goes_by_its_index(name: str) -> None:
    """As SQLite explains it."""
    spill = Spill()
    assert plan_of(spill.connection, TEXTS[name]) == OF_ITS_OWN[name]
    spill.close()


def test_every_statement_is_looked_at() -> None:
    """None is left over; that which makes the tables has no plan."""
    assert {*IN_THE_FILE, *OF_ITS_OWN, "REGISTERED"} == TEXTS.keys()
