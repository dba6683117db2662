"""What crosses to Python, and what does not."""

from __future__ import annotations

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from pointsman.conditions import Matcher, Predicate
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.predicates import held_column, holds_column
from pointsman.pipeline.predicates.inputs import Pair

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

SCHEMA = "subject string, metadata map<string,string>, body binary, source string"


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """One message."""
    return spark.createDataFrame([("s", {"a": "1", "b": "2"}, b'{"x": 1, "y": 2}', "here")], SCHEMA)


def plan_of(frame: DataFrame, column: Column) -> str:
    """The physical plan of a query for the column."""
    return str(frame.select(column.alias("asked"))._jdf.queryExecution().executedPlan().toString())


def test_a_native_question_does_not_leave_java(frame: DataFrame) -> None:
    """No evaluation in Python is planned."""
    columns = MessageColumns(frame)
    pairs: list[Pair] = [
        (Matcher("a", "1?"), Predicate("metadata.b > 1 AND subject LIKE 's%'")),
        (Matcher(None, "2"), None),
    ]
    assert "Python" not in plan_of(frame, sf.array(*(holds_column(*pair, columns) for pair in pairs)))
    assert "Python" not in plan_of(frame, held_column(pairs, columns))


def test_all_that_cross_do_so_at_once(frame: DataFrame) -> None:
    """One evaluation with one function, wherever its answers stand among those of native questions."""
    texts = ["body.x = 1", "metadata.a = '1'", "body.y = 1", "source = 'here'", "body.x > 0 AND metadata.b = 2"]
    held = held_column([(None, Predicate(text)) for text in texts], MessageColumns(frame))
    plan = plan_of(frame, held)
    evaluations = [line for line in plan.splitlines() if "ArrowEvalPython" in line]
    assert len(evaluations) == 1
    assert evaluations[0].count("answers(") == 1
    (row,) = frame.select(held.alias("held")).collect()
    assert row.held == [True, True, False, True, True]


def test_only_what_is_asked_for_crosses(frame: DataFrame) -> None:
    """Not the body, if nobody asks for it."""
    words = held_column([(Matcher("a", "1", partial=True), None)], MessageColumns(frame))
    (evaluation,) = [line for line in plan_of(frame, words).splitlines() if "ArrowEvalPython" in line]
    assert "body" not in evaluation.partition("answers(")[2].partition("),")[0]


def test_more_than_spark_can_plan_goes_to_python(frame: DataFrame) -> None:
    """A thousand small predicates."""
    pairs: list[Pair] = [(None, Predicate(f"metadata.a = {number}")) for number in range(1000)]
    held = held_column(pairs, MessageColumns(frame))
    assert "ArrowEvalPython" in plan_of(frame, held)
    (row,) = frame.select(held.alias("held")).collect()
    assert [number for number, holds in enumerate(row.held) if holds] == [1]
