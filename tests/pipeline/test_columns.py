"""The columns of messages that the stages use, and the one that says what is wrong."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from pointsman.errors import InputError
from pointsman.pipeline.columns import FIELDS, PROBLEM, TYPE, MessageColumns, find, is_fine, with_problem, with_problems

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def test_a_field_that_is_not_there_is_null_and_of_its_type(spark: SparkSession) -> None:
    """Also one whose column has no type of its own; a body of text becomes bytes."""
    frame = spark.createDataFrame([("a", "é", None)], "SUBJECT string, body string, id void")
    columns = MessageColumns(frame)
    found = frame.select(*(getattr(columns, name).alias(name) for name in FIELDS))
    assert [field.dataType.simpleString() for field in found.schema.fields] == list(FIELDS.values())
    row = found.collect()[0].asDict()
    assert row.pop("subject") == row.pop("original_subject") == "a"
    assert row.pop("body") == "é".encode()
    assert set(row.values()) == {None}
    assert (columns.name("subject"), columns.has("id"), columns.has("time")) == ("SUBJECT", True, False)
    assert not hasattr(columns, "priority")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("text string", "messages have no column 'subject', only 'text'"),
        ("subject int", "the column 'subject' of messages is int, not string"),
        ("subject string, Body array<int>", "the column 'Body' of messages is array<int>, not binary or string"),
        ("subject string, metadata map<string,int>", "is map<string,int>, not map<string,string>"),
    ],
)
def test_a_column_of_another_type_is_refused(spark: SparkSession, schema: str, problem: str) -> None:
    """As the messages spell its name."""
    with pytest.raises(InputError) as caught:
        MessageColumns(spark.createDataFrame([], schema))
    assert (caught.value.code, problem in caught.value.problem) == ("bad-usage", True)


def test_case_counts_if_the_session_says_so(spark: SparkSession) -> None:
    """As it does for Spark itself."""
    frame = spark.createDataFrame([], "Subject string, subject_ string")
    assert find(frame, "subject") == "Subject"
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert find(frame, "subject") is None
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_the_first_problem_of_a_row_stays(spark: SparkSession) -> None:
    """Where the condition is NULL there is none."""
    frame = spark.createDataFrame([(1,), (2,), (None,)], "n int").coalesce(1)
    once = with_problem(with_problems(frame), "one", "first", sf.lit("is 1"), sf.col("n") == 1)
    twice = with_problem(once, "two", sf.concat(sf.lit("n"), "n"), sf.lit("is there"), sf.col("n") >= 1)
    rows = twice.withColumn("fine", is_fine(twice)).collect()
    problems = [None if row.problem is None else tuple(row.problem) for row in rows]
    assert problems == [("one", "first", "is 1"), ("two", "n2", "is there"), None]
    assert [row.fine for row in rows] == [False, False, True]
    assert twice.schema[PROBLEM].dataType.simpleString() == TYPE


def test_a_column_of_the_name_that_is_something_else_is_not_overwritten(spark: SparkSession) -> None:
    """Whatever its case."""
    with pytest.raises(InputError, match="'Problem' of messages is string"):
        with_problems(spark.createDataFrame([], "Problem string"))
