"""``pipeline.route`` decides as ``RoutingTable.decide`` does, on generated tables and messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from pointsman.message import Message
from pointsman.pipeline import route
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from tests.pipeline.agreement import (
    QUICK_PLANS,
    SEED,
    balances_of,
    decided,
    disagreement,
    frame_of,
    routed,
)
from tests.pipeline.brokered import broker_disagreement, decided_once
from tests.pipeline.tables import NOW, STRATEGIES, Case, Sent, case_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

TABLES = 200
FEWER = 25


@pytest.fixture
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, set up for plans that are used once on a few rows."""
    before = {name: spark.conf.get(name, None) for name in QUICK_PLANS}
    for name, value in QUICK_PLANS.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


def cases(count: int) -> list[Case]:
    """The same ones in each run; ``python -m tests.pipeline.agree`` asks others."""
    return [case_of(Random(f"agreement {number}")) for number in range(count)]


def test_spark_decides_as_the_table_does(quick: SparkSession) -> None:
    """The same deliveries by the same routes under the same ids, the same refusals, and the same balances."""
    # Under another profile than the usual one, as for mutation, fewer have to do.
    every = cases(TABLES if settings().max_examples >= 150 else FEWER)
    kinds: Counter[str] = Counter()
    for number, case in enumerate(every):
        found = routed(quick, case)
        wrong = disagreement(case, found)
        assert wrong is None, f"case {number}\n{wrong}"
        kinds.update(row.outcome for row in found.rows.elements())
        kinds.update(row.problem[1] for row in found.rows.elements() if row.problem is not None)
        kinds.update(flag for row in found.rows for flag in ("probe", "waits", "instead_of") if getattr(row, flag))
    wanted = {"delivered", "quarantined", "unrouted", "publish-refused", "not-text", "no-key", "no-destinations"}
    assert wanted | {"instead_of", "waits"} <= set(kinds)


def test_a_broker_decides_as_the_table_does() -> None:
    """The same deliveries with the same bodies, the same refusals and dead letters, on the same tables."""
    outcomes: Counter[str] = Counter()
    for number, case in enumerate(cases(TABLES if settings().max_examples >= 150 else FEWER)):
        wrong = broker_disagreement(case, number)
        assert wrong is None, f"case {number}\n{wrong}"
        outcomes.update(row.outcome for row in decided_once(case, number))
    assert {"waiting", "dead", "unrouted", "refused: publish-refused"} <= set(outcomes)


def test_the_state_of_balances_is_the_one_that_decide_leaves(quick: SparkSession) -> None:
    """As ``Routed.state`` counts it in Spark, for tables that balance by counting."""
    balancing = [case for case in cases(60) if len(case.sent) > 20 and decided(case, Counter()).balances]
    for case in balancing[:3]:
        found = route(frame_of(quick, case.sent), case.table, state=case.state, now=NOW, seed=SEED)
        assert balances_of(found.state()) == decided(case, Counter()).balances


def test_the_generated_tables_have_every_strategy() -> None:
    """So that the comparison is about all of them."""
    found = Counter(route.strategy for case in cases(50) for route in case.table.routes)
    assert set(found) == set(STRATEGIES)
    assert len(Counter(route.balance for case in cases(50) for route in case.table.routes)) == 6


def test_the_comparison_can_say_no(quick: SparkSession) -> None:
    """A route of another destination, another priority or another share is told apart."""
    text = """
    routes:
      - {name: first, pattern: a, strategy: priority, priority: 2, destinations: [d]}
      - {name: second, pattern: a, strategy: priority, priority: 1, destinations: [d]}
      - {name: third, pattern: a, strategy: balanced, balance: round-robin, destinations: [d, e]}
    """
    changes = [
        ("priority: 2, destinations: [d]", "priority: 2, destinations: [e]"),
        ("priority: 2", "priority: 0"),
        ("[d, e]", "[e, d]"),
    ]
    table, *others = map(RoutingTable.parse, [text, *(text.replace(*change) for change in changes)])
    sent = [Sent(f"m{number}", Message("a", id=f"m{number}"), None) for number in range(3)]
    alike, *different = (routed(quick, Case({}, each, State(), sent)) for each in (table, *others))
    case = Case({}, table, State(), sent)
    assert disagreement(case, alike) is None
    assert [disagreement(case, each) is None for each in different] == [False, False, False]
