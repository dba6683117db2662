"""The column form finds exactly the subscriptions that brute force finds, in pieces of bounded size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import InputError, MessageError, PointsmanError
from pointsman.matching.invalid import InvalidPatternsError
from pointsman.matching.terms.hits import Hits
from pointsman.subscriptions.column_form.streams import cuts, side_by_side
from pointsman.subscriptions.columns import SubscriptionIndex
from tests.subscriptions.column_cases import (
    METADATA,
    NOW,
    Parts,
    brute_force,
    made,
    messages,
    subscriptions,
    table_of,
)

LANGUAGE = {"key": "language", "pattern": "en"}
INCLUDES = {"all": False, "matchers": [{"key": "a", "pattern": "x", "partial": False}]}
MATCHER = pa.struct([("key", pa.string()), ("pattern", pa.string()), ("partial", pa.bool_())])
GROUP = pa.struct([("all", pa.bool_()), ("matchers", pa.list_(MATCHER))])


def pairs(index: SubscriptionIndex, subjects: Any, metadata: Any, **more: Any) -> list[tuple[int, int]]:
    """What comes out, as it comes."""
    batches = list(index.match_batches(subjects, metadata, **more))
    assert all(0 < batch.num_rows <= more.get("max_pairs", 1 << 16) for batch in batches)
    return [(row["row"], row["subscription"]) for batch in batches for row in batch.to_pylist()]


def conditions(*plain: object) -> pa.Table:
    """Subscriptions of nothing but conditions."""
    return pa.table({"condition": [json.dumps(each) for each in plain]})


@given(st.lists(subscriptions, max_size=8), st.lists(messages, min_size=1, max_size=8), st.booleans(), st.booleans())
def test_every_message_reaches_whom_brute_force_says(
    parts: list[Parts], sent: list[tuple[str | None, dict[str, str] | None]], columns: bool, chunked: bool
) -> None:
    """Ascending, without repetition, whatever the dialects and conditions; also when the columns come in chunks."""
    wanted = [made(each, number) for number, each in enumerate(parts)]
    index = SubscriptionIndex.build(table_of(wanted, columns=columns))
    subjects: Any = pa.array([subject for subject, _ in sent], pa.string())
    metadata: Any = pa.array([None if each is None else list(each.items()) for _, each in sent], METADATA)
    if chunked:
        subjects = pa.chunked_array([subjects.slice(0, 1), subjects.slice(1)])
        metadata = pa.chunked_array([metadata.slice(0, 2), metadata.slice(2)])
    expected = brute_force(wanted, sent)
    assert pairs(index, subjects, metadata, now=NOW) == expected
    assert pairs(index, subjects, metadata, now=NOW, max_pairs=2) == expected


@given(st.lists(subscriptions, min_size=1, max_size=8), st.lists(messages, min_size=1, max_size=8))
def test_a_saved_index_gives_the_same_and_keeps_its_ids(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Parts], sent: list[tuple[str | None, dict[str, str] | None]]
) -> None:
    """Mapped from its file, checked or not."""
    table = table_of([made(each, number) for number, each in enumerate(parts)], columns=True)
    index = SubscriptionIndex.build(table, ids=table["subscription_id"])
    path = tmp_path_factory.mktemp("index") / "one.index"
    index.save(path)
    subjects = pa.array([subject for subject, _ in sent], pa.string())
    metadata = pa.array([None if each is None else list(each.items()) for _, each in sent], METADATA)
    for opened in (SubscriptionIndex.open(path), SubscriptionIndex.open(path, verify=False)):
        assert opened.ids.to_pylist() == table["subscription_id"].to_pylist()
        assert len(opened) == len(parts)
        assert opened.nbytes == index.nbytes
        assert opened.match(subjects, metadata, NOW) == index.match(subjects, metadata, NOW)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """With the code that other indexes have."""
    index = SubscriptionIndex.build(conditions(LANGUAGE))
    index.save(tmp_path / "one.index")
    data = bytearray((tmp_path / "one.index").read_bytes())
    data[-100] ^= 1
    (tmp_path / "one.index").write_bytes(data)
    with pytest.raises(InputError) as caught:
        SubscriptionIndex.open(tmp_path / "one.index")
    assert caught.value.code == "bad-index"


def test_a_message_costs_what_its_rarest_part_finds() -> None:
    """A matcher, or a pattern, that all subscriptions share is no gate where another part must hold too."""
    shared = {"condition": [json.dumps(LANGUAGE)] * 500, "pattern": [f"tenant{number}.>" for number in range(500)]}
    also = {
        "condition": [
            json.dumps(
                {"and": [LANGUAGE, {"key": "n", "number": {">": number}}, {"key": "symbol", "pattern": f"s{number}"}]}
            )
            for number in range(500)
        ],
        "pattern": [">"] * 500,
    }
    for columns in (shared, also):
        index = SubscriptionIndex.build(pa.table(columns))
        assert np.diff(index.programs.filed_offsets).max() == 1
    metadata = pa.array([[("language", "en"), ("n", "250"), ("symbol", "s7")]], METADATA)
    assert pairs(index, ["tenant7.a"], metadata) == [(0, 7)]


def test_limits_of_numbers_are_gates_only_where_nothing_else_is() -> None:
    """A number finds them by its place among the limits, for each operator; under any key too."""
    signs = ("<", "<=", "=", "<>", ">=", ">")
    plain = [{"key": key, "number": {sign: limit}} for key in ("n", None) for sign in signs for limit in range(5)]
    index = SubscriptionIndex.build(conditions(*plain))
    rows = [[("n", "2")], [("n", "2.5"), ("m", "4")], [("m", "0")], [("n", "two"), ("m", "02")], []]
    table = [made(Parts(None, None, True, None)._replace(condition=_read(each)), n) for n, each in enumerate(plain)]
    expected = brute_force(table, [("a", dict(row)) for row in rows])
    assert len(expected) > 60
    assert pairs(index, None, pa.array(rows, METADATA)) == expected


def _read(plain: Any) -> Any:
    from pointsman.conditions import read_condition

    return read_condition(plain)


def test_one_message_that_reaches_all_is_handed_out_in_pieces() -> None:
    """And its neighbours are right too; nothing larger than one row's list is made."""
    count = 300_000
    index = SubscriptionIndex.build(pa.table({"pattern": ["a.>"] * (count - 1) + ["b"]}))
    batches = list(index.match_batches(["b", "a.b", "a.c", "b"], None))
    assert max(batch.num_rows for batch in batches) == 1 << 16
    rows = np.concatenate([batch["row"].to_numpy() for batch in batches])
    found = np.concatenate([batch["subscription"].to_numpy() for batch in batches])
    assert np.bincount(rows).tolist() == [1, count - 1, count - 1, 1]
    assert (found[1:count] == np.arange(count - 1)).all()
    assert all(hits.offsets.size == 2 or hits.ids.size <= 1 << 18 for hits in index.rows(["a.b"] * 3, None))


@pytest.mark.parametrize(
    ("table", "code", "says"),
    [
        (pa.table({"pattern": ["a", None]}), "bad-subscription", "subscription 1: it has neither a pattern"),
        (conditions({"not": LANGUAGE}), "bad-subscription", "subscription 0: it has neither"),
        (
            conditions({"key": 5}),
            "bad-subscription",
            "condition: the condition: a condition has one of",
        ),
        (pa.table({"condition": ["{"]}), "bad-subscription", "subscription 0: condition: Expecting"),
        (pa.table({"condition": ["1"]}), "bad-subscription", "subscription 0: condition"),
        (pa.table({"includes": ["x"]}), "bad-usage", "includes"),
        (pa.table({"pattern": ["a"], "enabled": ["maybe"]}), "bad-usage", "'enabled' of subscriptions holds string"),
        (
            pa.table({"condition": [json.dumps(LANGUAGE)], "includes": pa.array([INCLUDES], GROUP)}),
            "bad-subscription",
            "subscription 0: condition: it has includes as well",
        ),
        (
            pa.table({"pattern": ["a"], "excludes": pa.array([INCLUDES], GROUP)}),
            "bad-subscription",
            "subscription 0: excludes: it has no includes",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_row(table: pa.Table, code: str, says: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(PointsmanError) as caught:
        SubscriptionIndex.build(table)
    assert (caught.value.code, says in caught.value.problem) == (code, True), caught.value.problem


def test_a_wildcard_of_another_dialect_is_refused_by_its_row_unless_the_dialect_was_chosen() -> None:
    """By the row itself, or by the call for all rows."""
    table = pa.table({"pattern": ["a.*", "a.#", "a.#"], "dialect": pa.array([None, "nats", None])})
    with pytest.raises(InvalidPatternsError) as caught:
        SubscriptionIndex.build(table)
    assert [(row, failure.code) for row, failure in caught.value.failures] == [(2, "foreign-wildcard")]
    assert pairs(SubscriptionIndex.build(table.slice(0, 2)), ["a.#"], None) == [(0, 0), (0, 1)]
    assert pairs(SubscriptionIndex.build(table, "nats"), ["a.#"], None) == [(0, 0), (0, 1), (0, 2)]


def test_what_is_not_enabled_is_not_looked_at() -> None:
    """Nothing of it can be wrong; its position stays."""
    table = pa.table({"pattern": ["a..", "a"], "condition": ["{", None], "enabled": [False, None]})
    assert pairs(SubscriptionIndex.build(table), ["a"], None) == [(0, 1)]


def test_every_row_of_an_invalid_pattern_is_named() -> None:
    """Patterns are compiled once, and told for each that has them."""
    table = pa.table({"pattern": ["a", "a..b", "x", "a..b", "#/a"], "dialect": [None, None, None, "nats", "mqtt"]})
    with pytest.raises(InvalidPatternsError) as caught:
        SubscriptionIndex.build(table)
    assert [row for row, _ in caught.value.failures] == [1, 3, 4]


def test_what_expires_needs_the_time() -> None:
    """As seconds, or as a timestamp in the table."""
    for kind in (pa.float64(), pa.timestamp("us", "UTC")):
        moments = pa.array([None, 1_000_000_000, 2_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
        expires = moments if pa.types.is_timestamp(kind) else pa.array([None, 1000.0, 2.0])
        index = SubscriptionIndex.build(pa.table({"pattern": ["a", "a", "a"], "expires": expires}))
        assert [pairs(index, ["a"], None, now=now) for now in (999.9, 1000.0)] == [[(0, 0), (0, 1)], [(0, 0)]]
        with pytest.raises(InputError, match="now="):
            index.match(["a"], None)


@pytest.mark.parametrize(
    ("subjects", "metadata", "error"),
    [
        (None, None, InputError),
        (["a", "b"], pa.array([[]], METADATA), InputError),
        (["a"], pa.array(["x"]), MessageError),
        (None, ["x"], MessageError),
        (None, pa.array([[("n", [1])]], pa.map_(pa.string(), pa.list_(pa.int64()))), MessageError),
    ],
)
def test_columns_that_are_no_messages_are_refused(subjects: Any, metadata: Any, error: type[Exception]) -> None:
    """Before anything is found."""
    index = SubscriptionIndex.build(conditions(LANGUAGE, {"key": "n", "number": {"<": 1}}))
    with pytest.raises(error):
        index.match(subjects, metadata)


def test_an_index_of_nothing_reaches_nobody() -> None:
    """With columns and without rows."""
    index = SubscriptionIndex.build(pa.table({"pattern": pa.array([], pa.string())}))
    assert len(index) == 0
    assert pairs(index, ["a"], pa.array([[("a", "x")]], METADATA)) == []
    assert pairs(SubscriptionIndex.build(conditions(LANGUAGE)), None, pa.array([], METADATA)) == []


@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(1, 12))
def test_rows_are_cut_where_room_ends(counts: list[int], room: int) -> None:
    """Each stretch has room, or is one row."""
    found = list(cuts(np.array(counts), room))
    assert [row for first, stop in found for row in range(first, stop)] == list(range(len(counts)))
    assert all(sum(counts[first:stop]) <= room or stop - first == 1 for first, stop in found)


@given(
    st.lists(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=6, max_size=6), min_size=1, max_size=3),
    st.data(),
)
def test_streams_that_are_cut_differently_come_side_by_side(rows: list[list[list[int]]], data: st.DataObject) -> None:
    """Row by row, the ids of all of them."""

    def stream(lists: list[list[int]]) -> Any:
        first = 0
        while first < len(lists):
            stop = data.draw(st.integers(first + 1, len(lists)))
            offsets = np.cumsum([0, *map(len, lists[first:stop])])
            yield Hits(first, offsets, np.array([id for each in lists[first:stop] for id in each], np.int32))
            first = stop

    found: list[list[int]] = []
    for hits in side_by_side([stream(each) for each in rows]):
        assert hits.first == len(found)
        found += [hits.ids[begin:end].tolist() for begin, end in zip(hits.offsets, hits.offsets[1:], strict=False)]
    assert found == [[id for each in rows for id in each[row]] for row in range(6)]
