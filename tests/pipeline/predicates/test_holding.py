"""Only what is asked of a message is answered."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from pointsman.conditions import Matcher, Predicate
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.predicates import holding_column
from pointsman.pipeline.predicates.inputs import Pair

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark, too")]

NATIVE: list[Pair] = [
    (None, Predicate("metadata.a = 1")),
    (Matcher("a", "?"), None),
    (None, Predicate("metadata.a = 2")),
]
MIXED: list[Pair] = [*NATIVE, (None, Predicate("body.x = 1"))]
CROSSING: list[Pair] = [(None, Predicate("body.x = 1 AND metadata.a = 1")), (None, Predicate("body.x = 2"))]
ASKED: list[list[int | None] | None] = [[1, 2, 3], [4, 3, 1], [], None, [0, -1, 5, 2, None, 4], [1, 2, 4, 3, 4, 1]]


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """The same message, asked for different things."""
    rows = [("s", {"a": "1"}, b'{"x": 1}', asked) for asked in ASKED]
    return spark.createDataFrame(rows, "subject string, metadata map<string,string>, body binary, asked array<int>")


@pytest.mark.parametrize(
    ("pairs", "holding"), [(NATIVE, {1, 2}), (MIXED, {1, 2, 4}), (CROSSING, {1})], ids=["native", "mixed", "crossing"]
)
def test_those_that_hold_are_found_among_those_asked(frame: DataFrame, pairs: list[Pair], holding: set[int]) -> None:
    """Each once; numbers that no question has are left out."""
    column = holding_column(pairs, MessageColumns(frame), frame["asked"])
    found = [sorted(row.holding) for row in frame.coalesce(1).select(column.alias("holding")).collect()]
    assert found == [sorted(holding.intersection(asked or [])) for asked in ASKED]


def test_what_is_native_asks_for_nothing_to_cross(frame: DataFrame) -> None:
    """The metadata stay where they are."""
    column = holding_column(MIXED, MessageColumns(frame), frame["asked"]).alias("holding")
    plan = frame.select(column)._jdf.queryExecution().executedPlan().toString()
    (evaluation,) = [line for line in plan.splitlines() if "ArrowEvalPython" in line]
    function = evaluation.partition("answers(")[2].partition(")#")[0]
    assert "body" in function
    assert "metadata" not in function
