"""``columns.route``: the table over Arrow columns decides as ``decide`` does, and loses no row."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import settings

from pointsman import Message, RoutingTable
from pointsman.columns import route
from pointsman.columns.plans import Plans
from pointsman.columns.subjects import Subjects
from pointsman.errors import InputError
from tests.columns.agreement import columns_disagreement, routed
from tests.pipeline.tables import case_of

TABLES = 400
FEWER = 50
TABLE = RoutingTable.parse(
    """
destinations: {audit: , premium: , standard: , one: , two: }
translations: [{from: "tills.*", to: "orders.$1"}]
routes:
  - {name: all, pattern: "orders.>", destinations: [audit]}
  - {name: large, pattern: "orders.>", strategy: content, when: "body.amount > 1000", destinations: [premium]}
  - {name: other, pattern: "orders.>", strategy: content, when: "TRUE", destinations: [standard]}
  - {name: mail, pattern: "mail.*", strategy: balanced, balance: round-robin, destinations: [one, two]}
access: {shop: {publish: ["orders.>", "tills.>", "mail.>"]}}
"""
)


def test_columns_decide_as_the_table_does() -> None:
    """The same deliveries by the same routes under the same ids, the same refusals, and the same balances."""
    for number in range(TABLES if settings().max_examples >= 150 else FEWER):
        wrong = columns_disagreement(case_of(Random(f"columns {number}")))
        assert wrong is None, f"case {number}\n{wrong}"


def test_the_comparison_can_say_no() -> None:
    """What another table decides is told apart."""
    case = case_of(Random("columns 3"))
    other = case_of(Random("columns 4"))
    assert routed(case).rows != routed(other).rows


def test_deliveries_quarantine_and_unrouted_hold_every_message() -> None:
    """With the columns of the messages; subjects after translation, and as they came."""
    messages = pa.table(
        {
            "subject": ["tills.eu", "orders.us", "mail.a", "mail.b", "other", None, "a..b", "orders.x"],
            "principal": [None, None, None, None, None, None, None, "nobody"],
            "body": ['{"amount": 1500}', '{"amount": 5}', None, None, None, None, None, None],
            "id": [str(number) for number in range(8)],
            "own": range(8),
        }
    )
    found = route(messages, TABLE)
    deliveries = found.deliveries.select(["delivery_id", "subject", "original_subject", "own"]).to_pylist()
    assert [tuple(row.values()) for row in deliveries] == [
        ("0/all/audit", "orders.eu", "tills.eu", 0),
        ("0/large/premium", "orders.eu", "tills.eu", 0),
        ("1/all/audit", "orders.us", "orders.us", 1),
        ("1/other/standard", "orders.us", "orders.us", 1),
        ("2/mail/one", "mail.a", "mail.a", 2),
        ("3/mail/two", "mail.b", "mail.b", 3),
    ]
    problems = {row["id"]: (row["problem"]["stage"], row["problem"]["code"]) for row in found.quarantine.to_pylist()}
    assert problems == {
        "5": ("resolve", "not-text"),
        "6": ("resolve", "empty-token"),
        "7": ("authorize", "publish-refused"),
    }
    assert found.unrouted["id"].to_pylist() == ["4"]


def test_the_state_goes_on_from_one_call_to_the_next() -> None:
    """A balance takes its turns over all of them."""
    first = route(pa.table({"subject": ["mail.a"]}), TABLE)
    second = route(pa.table({"subject": ["mail.b"]}), TABLE, state=first.state)
    assert [each.deliveries["destination"].to_pylist() for each in (first, second)] == [["one"], ["two"]]


def test_columns_of_any_kind_of_text_and_chunks_are_taken() -> None:
    """Large texts, dictionaries, chunked columns and none at all; most subjects may be different ones."""
    subjects = [f"orders.{number}" for number in range(5000)]
    wanted = len(subjects) * 2
    plain = pa.array(subjects)
    chunked = pa.chunked_array([plain.slice(0, 7), plain.slice(7)])
    for column in (plain, plain.cast(pa.large_string()), plain.dictionary_encode(), chunked):
        assert route(pa.table({"subject": column}), TABLE).deliveries.num_rows == wanted
    assert route(pa.table({"subject": pa.nulls(2)}), TABLE).quarantine.num_rows == 2
    assert route(pa.table({"subject": pa.array([], pa.string())}), TABLE).deliveries.num_rows == 0


def test_what_is_no_utf_8_is_quarantined() -> None:
    """And is no reason to lose the others."""
    broken = pa.array([b"orders.\xff", b"orders.eu"]).view(pa.string())
    found = route(pa.table({"subject": broken, "id": ["1", "2"]}), TABLE)
    assert found.quarantine["id"].to_pylist() == ["1"]
    assert set(found.deliveries["id"].to_pylist()) == {"2"}


@pytest.mark.parametrize(
    ("columns", "problem"),
    [({"topic": ["a"]}, "no column 'subject', only 'topic'"), ({"subject": ["a"], "route": ["b"]}, "a column 'route'")],
)
def test_columns_that_are_missing_or_in_the_way_are_errors(columns: dict[str, list[str]], problem: str) -> None:
    """Before anything is decided."""
    with pytest.raises(InputError, match=problem):
        route(pa.table(columns), TABLE)


def test_a_table_with_python_functions_is_refused() -> None:
    """They are for one message at a time."""
    table = RoutingTable.parse("routes: [{name: r, pattern: a, when: {function: f}, destinations: [d]}]")
    with pytest.raises(InputError, match="'f'"):
        route(pa.table({"subject": ["a"]}), table)


def test_a_predicate_is_asked_only_of_rows_in_which_it_can_matter() -> None:
    """A body that nobody needs is not read: here one that would be an error to read as a column."""
    found = route(pa.table({"subject": ["mail.a", "orders.eu"], "body": [b"\xff" * 10, b'{"amount": 2000}']}), TABLE)
    assert sorted(found.deliveries["route"].to_pylist()) == ["all", "large", "mail"]
    assert TABLE.decide(Message("mail.a", b"\xff" * 10)).deliveries[0].destination == "one"


def test_equal_lists_of_routes_have_one_plan() -> None:
    """Whatever lies before them in memory; a row without a list has none."""
    subjects = Subjects(TABLE, Plans(TABLE))
    lists = pa.array([[3], [0, 1], None, [], [0, 1], [0], [1, 0], [0, 1]], pa.list_(pa.int32()))
    every = subjects.plans_of(lists).tolist()
    assert every[1] == every[4] == every[7]
    assert (every[2], len({every[0], every[1], every[3], every[5]})) == (-1, 4)
    assert subjects.plans_of(lists.slice(3, 3)).tolist() == every[3:6]
    moved = pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), lists.values.slice(1))
    assert subjects.plans_of(moved).tolist() == every[4:6]
    assert subjects.plans_of(lists.slice(0, 0)).tolist() == []
