"""Messages meet their subscriptions on Spark, exactly as Pattern.matches says, in a batch and in a stream."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.functions import arrow_udf

from pointsman import Pattern, PointsmanError
from pointsman.errors import SubjectError
from pointsman.matching.invalid import InvalidPatternsError
from pointsman.pipeline import resolve
from pointsman.pipeline.subscriptions.search import opened

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

TOKENS = {
    "nats": ["a", "b", "A", "é", "*", ">", "a*"],
    "amqp": ["a", "b", "A", "é", "*", "#", ""],
    "zato": ["a", "b", "A", "a*", "*", "**", "", "*b"],
    "mqtt": ["a", "b", "A", "é", "+", "#", "", "$s"],
}


def frame(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str) -> DataFrame:
    """A DataFrame of these rows, in two partitions."""
    return spark.createDataFrame(rows, schema).repartition(2)


def subscribed(spark: SparkSession, *rows: tuple[Any, str | None], ids: str = "string") -> DataFrame:
    """Subscriptions, in the order given."""
    return spark.createDataFrame(list(rows), f"subscription_id {ids}, pattern string")


def sent(spark: SparkSession, *subjects: str | None) -> DataFrame:
    """Messages with nothing but a subject."""
    return frame(spark, [(subject,) for subject in subjects], "subject string")


def rows(found: DataFrame) -> Counter[tuple[Any, ...]]:
    """The rows and how often each is there."""
    return Counter(tuple(row) for row in found.collect())


def texts(dialect: str, count: int, seed: int) -> list[str]:
    """Random texts; many of them are patterns and some are subjects."""
    source = random.Random(f"{dialect} {seed}")
    separator = "/" if dialect == "mqtt" else "."
    return [separator.join(source.choices(TOKENS[dialect], k=source.randint(1, 4))) for _ in range(count)]


def patterns_in(dialect: str, candidates: list[str]) -> list[str]:
    """Those that are patterns."""
    found = []
    for text in candidates:
        try:
            found.append(Pattern(text, dialect).text)
        except PointsmanError:
            continue
    return found


def brute_force(dialect: str, subjects: list[str], subscriptions: list[tuple[Any, str]]) -> Counter[tuple[Any, ...]]:
    """What must come out: every subject against every pattern."""
    found: Counter[tuple[Any, ...]] = Counter()
    for number, pattern in subscriptions:
        parsed = Pattern(pattern, dialect)
        for subject in subjects:
            try:
                found[(subject, number)] += parsed.matches(subject)
            except SubjectError:
                continue
    return +found


@pytest.mark.parametrize("dialect", TOKENS)
def test_one_row_a_match_as_brute_force_finds_them(spark: SparkSession, dialect: str) -> None:
    """On random patterns and subjects, duplicates and invalid subjects among them."""
    subjects = texts(dialect, 400, seed=1)
    subscriptions = list(enumerate(patterns_in(dialect, texts(dialect, 400, seed=2))))
    expected = brute_force(dialect, subjects, subscriptions)
    assert len(expected) > 1000
    found = resolve(sent(spark, *subjects), subscribed(spark, *subscriptions, ids="bigint"), dialect)
    assert rows(found) == expected


def test_the_dialect_of_a_row_wins_over_that_of_the_call(spark: SparkSession) -> None:
    """One subject is matched by the patterns of every dialect in which it is valid."""
    given: list[tuple[str, str, str | None]] = []
    expected: Counter[tuple[Any, ...]] = Counter()
    subjects = [text for dialect in TOKENS for text in texts(dialect, 60, seed=3)]
    for dialect in TOKENS:
        own = [(f"{dialect} {number}", each) for number, each in enumerate(patterns_in(dialect, texts(dialect, 60, 4)))]
        given += [(name, pattern, None if dialect == "zato" else dialect) for name, pattern in own]
        expected += brute_force(dialect, subjects, own)
    random.Random(5).shuffle(given)
    subscriptions = spark.createDataFrame(given, "subscription_id string, pattern string, dialect string")
    assert rows(resolve(sent(spark, *subjects), subscriptions, "zato")) == expected


def test_the_columns_of_a_message_come_out_untouched(spark: SparkSession) -> None:
    """Whatever their types and names, those of the columns of a subscription included."""
    schema = (
        "pattern string, subject string, `a.b` map<string,int>, dialect binary, `x y` array<double>, n decimal(9,2), "
        "id int, metadata string"
    )
    row = ("not a pattern", "orders.new", {"x": 1, "y": None}, b"\x00\xff", [0.5, None], Decimal("1.20"), 7, "m")
    messages = frame(spark, [row], schema)
    found = resolve(messages, subscribed(spark, ("s", "orders.*")))
    assert found.schema.fields[:-1] == messages.schema.fields
    assert [tuple(each) for each in found.collect()] == [(*row, "s")]


def test_the_columns_of_the_streams_are_found_as_spark_finds_them(spark: SparkSession) -> None:
    """The case of a name does not matter, and the messages keep their spelling of it."""
    messages = frame(spark, [("a",)], "SUBJECT string")
    subscriptions = spark.createDataFrame([(1, "a")], "Subscription_Id int, PATTERN string")
    found = resolve(messages, subscriptions)
    assert found.columns == ["SUBJECT", "subscription_id"]
    assert rows(found) == {("a", 1): 1}


@pytest.mark.parametrize(
    ("ids", "values"),
    [
        ("string", ["x", "", "ü"]),
        ("tinyint", [1, -1, 127]),
        ("bigint", [1, 2**63 - 1, -(2**63)]),
        ("binary", [b"", b"\x00", b"\xff"]),
        ("struct<tenant:string,number:int>", [("t", 1), ("t", 2), (None, 1)]),
        ("timestamp", [datetime(2024, 2, 29, 12), datetime(1970, 1, 1), datetime(2038, 1, 20, 3)]),
        ("decimal(20,3)", [Decimal("1.000"), Decimal("-2.500"), Decimal("99999999999999999.999")]),
    ],
)
def test_a_subscription_id_may_be_of_any_type(spark: SparkSession, ids: str, values: list[Any]) -> None:
    """It comes out in its own type and with its own value."""
    subscriptions = subscribed(spark, *((value, f"a.{number}") for number, value in enumerate(values)), ids=ids)
    found = resolve(sent(spark, *(f"a.{number}" for number in range(len(values)))), subscriptions)
    assert found.schema["subscription_id"].dataType == subscriptions.schema["subscription_id"].dataType
    assert sorted(found.collect()) == sorted((f"a.{number}", value) for number, value in enumerate(values))


def test_null_and_invalid_subjects_give_no_rows(spark: SparkSession) -> None:
    """Not even from a pattern for everything."""
    found = resolve(sent(spark, None, "", "a..b", "a b", "ok"), subscribed(spark, ("all", ">")))
    assert rows(found) == {("ok", "all"): 1}


def test_without_subscriptions_there_are_no_rows(spark: SparkSession) -> None:
    """The columns are there all the same; with or without a column of dialects."""
    for more in ("", ", dialect string"):
        nobody = spark.createDataFrame([], f"subscription_id int, pattern string{more}")
        found = resolve(sent(spark, "a"), nobody)
        assert found.columns == ["subject", "subscription_id"]
        assert found.collect() == []


def test_what_is_there_twice_comes_out_twice(spark: SparkSession) -> None:
    """Messages and subscriptions alike; nobody can tell whether the second one was meant."""
    found = resolve(sent(spark, "a", "a"), subscribed(spark, ("s", "a"), ("s", "a"), ("s", "*"), ("t", "b")))
    assert rows(found) == {("a", "s"): 6}


@pytest.mark.classic
def test_a_stream_gives_the_rows_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Also over several micro-batches."""
    subjects = texts("amqp", 300, seed=6)
    messages = frame(spark, list(enumerate(subjects)), "number int, subject string")
    messages.write.json(str(tmp_path / "in"))
    subscriptions = subscribed(spark, *((text, text) for text in patterns_in("amqp", texts("amqp", 50, seed=7))))
    stream = spark.readStream.schema(messages.schema).option("maxFilesPerTrigger", 1).json(str(tmp_path / "in"))
    query = (
        resolve(stream, subscriptions, "amqp")
        .writeStream.format("memory")
        .queryName("resolved")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    assert len(query.recentProgress) >= 2
    found = rows(spark.table("resolved"))
    assert found == rows(resolve(messages, subscriptions, "amqp"))
    assert len(found) > 300


def test_only_the_subject_goes_to_python(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """The rest of a message stays where it is, and the subject goes once."""
    messages = frame(spark, [("a", "body")], "subject string, body string")
    resolve(messages, subscribed(spark, ("s", "a"))).where("subscription_id > ''").select("body").explain()
    plan = capsys.readouterr().out
    assert re.findall(r"EvalPython \[(.*?)\],", plan) == [re.search(r"\w+\(subject#\d+\)#\d+", plan)[0]]  # type: ignore[index]


@pytest.mark.classic
def test_the_same_subscriptions_are_shipped_once(spark: SparkSession) -> None:
    """Others are shipped anew; the dialect is part of what they are."""
    before = len(spark.sparkContext.listFiles)
    subscriptions = subscribed(spark, ("shipped", "a.b"))
    for dialect in ("nats", "amqp", "nats"):
        assert rows(resolve(sent(spark, "a.b"), subscriptions, dialect)) == {("a.b", "shipped"): 1}
    resolve(sent(spark, "a"), subscribed(spark, ("shipped elsewhere", "a.b")))
    assert len(spark.sparkContext.listFiles) == before + 3


@pytest.mark.classic
def test_a_worker_opens_the_index_once_and_shares_it(spark: SparkSession) -> None:
    """However many tasks it runs: the file is mapped, and it is the same one for all workers."""
    before = set(spark.sparkContext.listFiles)
    messages = spark.range(1000).select(sf.lit("a.b").alias("subject")).repartition(8)
    assert resolve(messages, subscribed(spark, ("opened", "a.b"))).count() == 1000
    [name] = (Path(url).name for url in set(spark.sparkContext.listFiles) - before)

    @arrow_udf("pid int, was_open boolean, mapped string")  # type: ignore[untyped-decorator]
    def probe(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for column in columns:
            misses = opened.cache_info().misses
            indexes = opened((SparkFiles.get(name),))
            mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if name in line]
            was_open = opened.cache_info().misses == misses
            answer = {"pid": os.getpid(), "was_open": was_open, "mapped": " ".join(f"{line[4]}" for line in mapped)}
            assert len(indexes.ids) == 1
            yield pa.array([answer] * len(column))

    seen = spark.range(0, 1000, 1, 8).select(probe(sf.col("id")).alias("seen")).select("seen.*").distinct().collect()
    opens = Counter(row.pid for row in seen if not row.was_open)
    assert set(opens.values()) <= {1}
    assert {row.pid for row in seen if row.was_open}
    assert len({row.mapped for row in seen}) == 1
    assert re.fullmatch(r"\d+", seen[0].mapped)


def test_every_invalid_pattern_is_named_with_its_row_and_its_subscription(spark: SparkSession) -> None:
    """Before anything runs; rows are counted in the order of the table, whatever their dialects."""
    with pytest.raises(InvalidPatternsError) as caught:
        resolve(sent(spark, "a"), subscribed(spark, ("good", "a"), ("bad", "a..b"), ("worse", "a.>.b")))
    assert [position for position, _ in caught.value.failures] == [1, 2]
    assert caught.value.code == "empty-token"
    assert caught.value.problem.startswith("pattern 1: of subscription 'bad': token 2 of the nats pattern is empty")
    mixed = [(1, "a.#.b", "nats"), (2, "#/a", "mqtt"), (3, "a.>.b", None), (4, "a", "amqp")]
    with pytest.raises(InvalidPatternsError) as caught:
        resolve(sent(spark, "a"), spark.createDataFrame(mixed, "subscription_id int, pattern string, dialect string"))
    assert [(row, failure.text) for row, failure in caught.value.failures] == [(1, "#/a"), (2, "a.>.b")]


def test_a_wildcard_of_another_dialect_is_an_error_unless_the_dialect_was_chosen(spark: SparkSession) -> None:
    """By the row or by the call; also after the same subscriptions were compiled for a call that chose it."""
    rows_of = [("chosen", "a.#", "nats"), ("not", "a.#", None)]
    table = spark.createDataFrame(rows_of, "subscription_id string, pattern string, dialect string")
    assert rows(resolve(sent(spark, "a.#"), table, "nats")) == {("a.#", "chosen"): 1, ("a.#", "not"): 1}
    with pytest.raises(InvalidPatternsError) as caught:
        resolve(sent(spark, "a.#"), table)
    assert [(row, failure.code) for row, failure in caught.value.failures] == [(1, "foreign-wildcard")]
    assert "of subscription 'not'" in caught.value.problem
    mixed = spark.createDataFrame([*rows_of[:1], ("not", "a.*", None)], table.schema)
    assert rows(resolve(sent(spark, "a.#", "a.b"), mixed)) == {
        ("a.#", "chosen"): 1,
        ("a.#", "not"): 1,
        ("a.b", "not"): 1,
    }


@pytest.mark.parametrize(
    ("messages", "subscriptions", "dialect", "error"),
    [
        (
            "topic string",
            "subscription_id int, pattern string",
            "nats",
            "messages have no column 'subject', only 'topic'",
        ),
        (
            "subject string",
            "name int, pattern string",
            "nats",
            "subscriptions have no column 'subscription_id', only 'name'",
        ),
        (
            "subject string",
            "subscription_id int",
            "nats",
            "none of the columns 'pattern', 'condition' and 'includes', only 'subscription_id'",
        ),
        (
            "subject binary",
            "subscription_id int, pattern string",
            "nats",
            "'subject' of messages is binary, not str",
        ),
        ("subject string", "subscription_id int, pattern int", "nats", "'pattern' of subscriptions holds int, not str"),
        (
            "subject string, Subscription_ID int",
            "subscription_id int, pattern string",
            "nats",
            "messages have a column 'Subscription_ID' already",
        ),
        ("subject string", "subscription_id int, pattern string", "kafka", "kafka"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    spark: SparkSession, messages: str, subscriptions: str, dialect: str, error: str
) -> None:
    """Before anything runs."""
    with pytest.raises(PointsmanError) as caught:
        resolve(spark.createDataFrame([], messages), spark.createDataFrame([], subscriptions), dialect)
    assert caught.value.code == ("unknown-dialect" if dialect == "kafka" else "bad-usage")
    assert error in caught.value.problem
