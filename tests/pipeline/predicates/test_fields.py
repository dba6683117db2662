"""What can be in a row and not in a message."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.conditions import Matcher, Negated, NumberComparison, Predicate
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.predicates import held_column
from pointsman.pipeline.predicates.arrow import answered_column
from pointsman.pipeline.predicates.inputs import Pair

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]


def answers(frame: DataFrame, pairs: list[Pair]) -> list[list[bool]]:
    """The answers for each row in its order, after having seen that both ways have the same."""
    columns = MessageColumns(frame)
    rows = frame.select(held_column(pairs, columns).alias("held"), answered_column(pairs, columns).alias("answered"))
    found = rows.collect()
    assert [row.held for row in found] == [row.answered for row in found]
    return [row.held for row in found]


def test_text_that_is_no_utf_8_is_null(spark: SparkSession) -> None:
    """In a field, under a key, and as a key; also what Java writes for half a surrogate pair."""
    bad = [b"\xff", b"a\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xe2\x82"]
    rows = spark.createDataFrame([(each,) for each in bad], "bytes binary").coalesce(1)
    text = sf.col("bytes").cast("string")
    frame = rows.select(
        text.alias("subject"),
        sf.create_map(sf.lit("a"), text, text, sf.lit("b"), sf.lit("c"), sf.lit("d")).alias("metadata"),
    )
    pairs: list[Pair] = [
        (None, Predicate("subject IS NULL AND metadata.a IS NULL AND metadata.c = 'd'")),
        (None, Predicate("subject <> 'x' OR metadata.a LIKE '%' OR metadata.a > 5")),
        (Matcher(None, "*"), None),
        (Matcher("a", "*"), None),
        (Negated(Matcher("a", "*", partial=True)), None),
    ]
    assert answers(frame, pairs) == [[True, False, True, False, True]] * len(bad)


def test_a_value_of_the_metadata_that_is_null_is_missing(spark: SparkSession) -> None:
    """As is everything in metadata that are NULL."""
    frame = spark.createDataFrame(
        [("s", {"a": None}), ("s", None), ("s", {})], "subject string, metadata map<string,string>"
    )
    pairs: list[Pair] = [
        (None, Predicate("metadata.a IS NULL")),
        (Negated(Matcher("a", "*")), None),
        (Matcher(None, "*"), None),
        (Matcher(None, "*", partial=True), None),
        (NumberComparison(None, "<>", 1), None),
    ]
    assert answers(frame.coalesce(1), pairs) == [[True, True, False, False, False]] * 3


def test_a_time_that_python_does_not_have_is_null(spark: SparkSession) -> None:
    """Before the year 1 and after 9999, to the microsecond."""
    outside, inside = (
        (-62_135_596_800_000_001, 253_402_300_800_000_000),
        (-62_135_596_800_000_000, 253_402_300_799_999_999),
    )
    frame = spark.createDataFrame([(each,) for each in (*outside, *inside)], "time bigint").coalesce(1)
    frame = frame.select(sf.lit("s").alias("subject"), sf.timestamp_micros("time").alias("time"))
    pairs: list[Pair] = [
        (None, Predicate("time IS NULL")),
        (None, Predicate("time < '2026-05-01T12:00:00Z' OR time >= '2026-05-01T12:00:00Z'")),
    ]
    assert answers(frame, pairs) == [[True, False], [True, False], [False, True], [False, True]]


def test_columns_that_are_not_there_are_null(spark: SparkSession) -> None:
    """A subject is enough to be asked."""
    frame = spark.createDataFrame([("orders.created",)], "subject string")
    pairs: list[Pair] = [
        (None, Predicate("subject = 'orders.created' AND id IS NULL AND time IS NULL AND body IS NULL")),
        (Negated(Matcher(None, "*")), Predicate("metadata.a IS NULL AND subject LIKE 'orders.%'")),
        (Matcher("a", "*", partial=True), None),
        (None, Predicate("body.a = 1")),
        (None, None),
    ]
    assert answers(frame, pairs) == [[True, True, False, False, True]]


def test_a_body_may_be_null(spark: SparkSession) -> None:
    """Then it is as an empty one, which is no JSON."""
    frame = spark.createDataFrame([("s", None), ("s", b""), ("s", b"1")], "subject string, body binary").coalesce(1)
    assert answers(frame, [(None, Predicate("body IS NULL"))]) == [[True], [True], [False]]


def test_no_question_has_no_answer(spark: SparkSession) -> None:
    """An empty list."""
    frame = spark.createDataFrame([("s",)], "subject string")
    (row,) = frame.select(held_column([], MessageColumns(frame)).alias("held")).collect()
    assert row.held == []
