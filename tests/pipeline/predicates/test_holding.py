"""Only what is asked of a message is answered."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from pointsman.conditions import Matcher, Predicate
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.predicates import holding_column
from pointsman.pipeline.predicates.inputs import Pair

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

NATIVE: list[Pair] = [
    (None, Predicate("metadata.a = 1")),
    (Matcher("a", "?"), None),
    (None, Predicate("metadata.a = 2")),
]
CROSSING: list[Pair] = [*NATIVE, (None, Predicate("body.x = 1"))]
ASKED: list[list[int | None] | None] = [[1, 2, 3], [4, 3, 1], [], None, [0, -1, 5, 2, None, 4], [1, 2, 3, 4]]


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """The same message, asked for different things."""
    rows = [("s", {"a": "1"}, b'{"x": 1}', asked) for asked in ASKED]
    return spark.createDataFrame(rows, "subject string, metadata map<string,string>, body binary, asked array<int>")


@pytest.mark.parametrize(("pairs", "holding"), [(NATIVE, {1, 2}), (CROSSING, {1, 2, 4})], ids=["native", "crossing"])
def test_those_that_hold_are_found_among_those_asked(frame: DataFrame, pairs: list[Pair], holding: set[int]) -> None:
    """In the order in which they are asked; numbers that no question has are left out."""
    column = holding_column(pairs, MessageColumns(frame), frame["asked"])
    found = [row.holding for row in frame.coalesce(1).select(column.alias("holding")).collect()]
    assert found == [[number for number in asked or [] if number in holding] for asked in ASKED]
