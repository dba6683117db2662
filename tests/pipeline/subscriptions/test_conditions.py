"""Messages meet subscriptions with conditions on Spark, in every mode exactly as brute force says."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.errors import PointsmanError
from pointsman.pipeline import resolve
from pointsman.pipeline.subscriptions import compiled, search
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions, choose_strategy, compile_subscriptions
from pointsman.pipeline.subscriptions.frame import Weighed
from pointsman.pipeline.subscriptions.search import Search
from pointsman.subscriptions.columns import SubscriptionIndex
from tests.subscriptions.column_cases import METADATA, NOW, Parts, brute_force, made, messages, subscriptions, table_of

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

EU = json.dumps({"key": "region", "pattern": "EU"})
WAYS: tuple[dict[str, Any], ...] = ({"mode": "broadcast", "page": 2}, {"mode": "partitioned", "shards": 3})


def found(resolved: DataFrame) -> set[tuple[Any, ...]]:
    """The rows, of which there must be no two alike."""
    rows = [tuple(row) for row in resolved.collect()]
    assert len(rows) == len(set(rows))
    return set(rows)


@pytest.fixture
def by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of any size are compiled by the workers, in several files."""
    monkeypatch.setattr(compiled, "HERE", 0)
    monkeypatch.setattr(compiled, "MOST_IN_A_PART", 30)


@pytest.mark.usefixtures("by_workers")
@settings(max_examples=1, suppress_health_check=list(HealthCheck), database=None)
@given(st.lists(subscriptions, min_size=70, max_size=90), st.lists(messages, min_size=60, max_size=80))
def test_every_mode_finds_what_brute_force_finds(
    spark: SparkSession, parts: list[Parts], sent: list[tuple[str | None, dict[str, str] | None]]
) -> None:
    """Also in pages of two, in shards, and when workers compile it in several files."""
    wanted = [made(each, number) for number, each in enumerate(parts)]
    table = spark.createDataFrame(table_of(wanted, columns=True))
    rows = [(number, subject, metadata) for number, (subject, metadata) in enumerate(sent)]
    frame = spark.createDataFrame(rows, "number int, subject string, metadata map<string,string>").repartition(2)
    ways = [
        resolve(frame, table, now=NOW, **way).select(sf.lit(number).alias("way"), "number", "subscription_id")
        for number, way in enumerate(WAYS)
    ]
    expected = {(row, f"s{number}") for row, number in brute_force(wanted, sent)}
    assert found(ways[0].union(ways[1])) == {(way, *pair) for way in range(len(WAYS)) for pair in expected}


def test_a_message_goes_on_as_it_is_and_only_its_subject_and_metadata_go_to_python(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once, also if there are further pages."""
    sent = spark.createDataFrame(
        [("orders.new", {"region": "EU"}, b"x", [1.5])],
        "SUBJECT string, metadata map<string,string>, body binary, `a b` array<double>",
    )
    table = spark.createDataFrame(
        [((1, "x"), "orders.*", EU), ((2, "y"), "orders.*", None), ((3, "z"), None, EU)],
        "Subscription_Id struct<a:int,b:string>, pattern string, condition string",
    )
    resolved = resolve(sent, table, page=2)
    assert resolved.columns == ["SUBJECT", "metadata", "body", "a b", "subscription_id"]
    assert sorted(tuple(row.subscription_id) for row in resolved.collect()) == [(1, "x"), (2, "y"), (3, "z")]
    assert bytes(resolved.collect()[0].body) == b"x"
    for page in (2, 3):
        resolve(sent, table, page=page).explain()
        plan = capsys.readouterr().out
        assert len(re.findall(r"EvalPython \[find\(", plan)) == 1
        assert "body" not in "".join(re.findall(r"EvalPython \[(.*?)\], \[", plan))


def test_the_same_subscriptions_are_one_version_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    """Which is compiled once; another one, another dialect and another mode are others."""
    rows = [(1, "a.b", EU), (2, "a.*", None)]
    schema = "subscription_id int, pattern string, condition string"
    first, again, other = (
        spark.createDataFrame(each, schema) for each in (rows, rows[::-1], [(1, "a.b", EU), (3, "a.*", None)])
    )
    one = compile_subscriptions(first, folder=tmp_path)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert compile_subscriptions(again, folder=tmp_path) == one == CompiledSubscriptions.open(tmp_path, one.version)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files
    others = [
        compile_subscriptions(other, folder=tmp_path),
        compile_subscriptions(first, "amqp", folder=tmp_path),
        compile_subscriptions(first, "nats", folder=tmp_path),
        compile_subscriptions(first, mode="partitioned", shards=2, folder=tmp_path),
    ]
    assert len({each.version for each in (one, *others)}) == 5
    assert str(one).startswith("broadcast: the index has about 0.0 MB, of 1,073.7 MB for each host (2 subscriptions")
    assert str(others[-1]).startswith("partitioned: as asked for (2 subscriptions, 2 shards")


@pytest.mark.parametrize(
    ("mode", "shards", "room", "expected"),
    [
        ("auto", None, 1000, ("broadcast", 1, "the index has about 0.0 MB, of 0.0 MB for each host")),
        ("auto", None, 999, ("partitioned", 2, "the index has about 0.0 MB, of 0.0 MB for each host")),
        ("auto", None, 300, ("partitioned", 4, "the index has about 0.0 MB, of 0.0 MB for each host")),
        ("auto", 7, 1000, ("partitioned", 7, "shards are asked for")),
        ("broadcast", None, 1, ("broadcast", 1, "as asked for")),
        ("partitioned", None, 1000, ("partitioned", 2, "as asked for")),
        ("partitioned", 5, 1, ("partitioned", 5, "as asked for")),
    ],
)
def test_the_mode_goes_by_what_a_host_should_hold(
    mode: Any, shards: int | None, room: int, expected: tuple[str, int, str]
) -> None:
    """Unless it is said which."""
    assert choose_strategy(Weighed("", 10, 1000), mode, shards, room) == expected


@pytest.mark.parametrize("where", ["here", "by workers"])
@pytest.mark.parametrize(
    ("row", "code", "says"),
    [
        (("bad", "a..b", None), "empty-token", "of subscription 'bad': token 2 of the nats pattern is empty"),
        (("bad", "a.#", None), "foreign-wildcard", "of subscription 'bad': '#' is a wildcard in amqp"),
        (("bad", None, "{}"), "bad-subscription", "subscription 'bad': condition: the condition: a condition has one"),
        (("bad", None, None), "bad-subscription", "subscription 'bad': it has neither a pattern nor a condition"),
    ],
)
def test_what_is_wrong_with_a_subscription_is_told_with_its_id(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, row: Any, code: str, says: str
) -> None:
    """Before anything runs, wherever it is compiled; nothing is left of it."""
    if where == "by workers":
        monkeypatch.setattr(compiled, "HERE", 0)
    table = spark.createDataFrame([("ok", "a", EU), row], "subscription_id string, pattern string, condition string")
    with pytest.raises(PointsmanError) as caught:
        compile_subscriptions(table, folder=tmp_path)
    assert caught.value.code == code
    assert says in caught.value.problem
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("schema", "how", "says"),
    [
        ("name string, condition string", {}, "subscriptions have no column 'subscription_id', only 'name'"),
        ("subscription_id int, enabled boolean", {}, "none of the columns 'pattern', 'condition' and 'includes'"),
        ("subscription_id int, condition int", {}, "'condition' of subscriptions holds int, not string"),
        ("subscription_id int, includes string", {}, "'includes' of subscriptions holds string, not struct<"),
        ("subscription_id int, pattern string", {"mode": "each"}, "there is no mode 'each'"),
        ("subscription_id int, pattern string", {"shards": 0}, "at least one shard"),
        ("subscription_id int, pattern string", {"page": 0}, "a page holds at least one subscription, not 0"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(spark: SparkSession, schema: str, how: Any, says: str) -> None:
    """Before anything runs."""
    with pytest.raises(PointsmanError) as caught:
        resolve(spark.createDataFrame([], "subject string"), spark.createDataFrame([], schema), **how)
    assert caught.value.code == "bad-usage"
    assert says in caught.value.problem


def test_groups_are_read_by_the_names_of_their_fields(spark: SparkSession) -> None:
    """In whatever order; what is not there means its default. All are in every shard, and so in none of their own."""
    matchers = "matchers:array<struct<pattern:string,key:string>>"
    schema = f"id int, includes struct<{matchers},all:boolean>, excludes struct<{matchers}>"
    table = spark.createDataFrame(
        [(1, ([("E*", "region"), ("b*", "kind")], True), None), (2, ([("EU", None)], None), ([("big", "kind")],))],
        schema,
    )
    sent = spark.createDataFrame(
        [("a", {"region": "EU", "kind": "big"}), ("b", {"other": "EU"}), ("c", None)],
        "subject string, metadata map<string,string>",
    )
    for how in ({}, {"mode": "partitioned", "shards": 2}):
        rows = resolve(sent, table, **how).select("subject", "subscription_id")
        assert found(rows) == {("a", 1), ("b", 2)}


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 100])
def test_pages_are_those_of_the_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int, rows: int) -> None:
    """Messages that reach all, none and some, in two files; the pages of a message may go on in another batch."""
    for name, first, patterns in (("one", 0, ["a.>", "a.>", "a.b"]), ("two", 3, ["a.>"] * 4)):
        ids = pa.array(range(first, first + len(patterns)))
        SubscriptionIndex.build(pa.table({"pattern": patterns}), ids=ids).save(tmp_path / name)
    monkeypatch.setattr(search, "shipped", lambda name: str(tmp_path / name))
    seven = CompiledSubscriptions("", "broadcast", "", 7, 0, "", (), ("one", "two"), "", expires=False)
    found = Search(seven, size)
    pages = range(1, found.pages + 1)
    asked = [(subject if page == 1 else None, page) for subject in ("a.b", "b", "a.c") for page in pages]
    batches = []
    for start in range(0, len(asked), rows):
        subjects, numbers = zip(*asked[start : start + rows], strict=True)
        count = len(subjects)
        batches.append((pa.array(subjects, pa.string()), pa.nulls(count, METADATA), pa.array(numbers, pa.int32())))
    names = ("subject", "metadata", "page")
    lists = pa.concat_arrays(list(found.lists(iter(batches), names))).to_pylist()
    reached = ([0, 1, 2, 3, 4, 5, 6], [], [0, 1, 3, 4, 5, 6])
    assert lists == [every[(page - 1) * size : page * size] for every in reached for page in pages]
