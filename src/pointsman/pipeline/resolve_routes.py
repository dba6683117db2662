"""The stage ``resolve`` for a routing table: from a subject to the routes whose patterns match it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pointsman.errors import SubjectError
from pointsman.patterns.subject import Subject
from pointsman.pipeline.columns import MessageColumns, refuse_columns
from pointsman.pipeline.index_file import lists, opened, ship
from pointsman.pipeline.problem import is_fine, with_problem, with_problems
from pointsman.pipeline.route_codes import RouteCodes
from pointsman.pipeline.subject_map import texts
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FOUND = "pointsman_found"
MISSING = "the subject is missing"
BROKEN = "the subject is not UTF-8"


def resolve_routes(messages: DataFrame, table: RoutingTable, codes: RouteCodes) -> DataFrame:
    """The messages with ``routes``: the codes of the routes that match, as ``RoutingTable.index`` finds them.

    A subject that is invalid in every dialect used, and one that is NULL or no UTF-8, is a problem; its ``routes`` are
    NULL.
    """
    import pyarrow as pa
    from pyspark.sql import functions as sf

    refuse_columns(messages, "routes")
    base = with_problems(messages)
    subject = MessageColumns(base).subject
    base = with_problem(base, "resolve", "not-utf8", sf.lit(BROKEN), ~sf.is_valid_utf8(subject))
    patterns = pa.table(
        {
            "subscription_id": pa.array(codes.codes, pa.int64()),
            "pattern": pa.array([route.pattern.text for route in codes.routes], pa.string()),
            "dialect": pa.array([route.pattern.dialect.name for route in codes.routes], pa.string()),
        }
    )
    name = ship(messages.sparkSession.sparkContext, patterns, table.dialect.name)
    asked = sf.when(is_fine(base), subject)
    found = base.withColumn(FOUND, _finding(name, table.dialect.name)(asked))
    routed = found.withColumn("routes", found[FOUND]["routes"])
    code, reason = routed[FOUND]["code"], routed[FOUND]["reason"]
    return with_problem(routed, "resolve", code, reason, code.isNotNull()).drop(FOUND)


def _finding(name: str, dialect: str) -> Any:
    """The function from a subject to the codes of its routes, or to what is wrong with it."""
    import pyarrow as pa
    from pyspark import SparkFiles
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so
    from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

    kind = StructType(
        [
            StructField("routes", ArrayType(LongType())),
            StructField("code", StringType()),
            StructField("reason", StringType()),
        ]
    )

    def find(columns: Iterator[Any]) -> Iterator[Any]:
        index = opened(SparkFiles.get(name))
        for column in columns:
            start = 0
            for found in lists(index, iter([column])):
                yield with_problems_of(column.slice(start, len(found)), found, dialect)
                start += len(found)

    find.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(find, kind)


def with_problems_of(subjects: Any, found: Any, dialect: str) -> Any:
    """The lists with, where one is null, what is wrong with the subject in the dialect of the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = len(found)
    codes: list[str | None] = [None] * size
    reasons: list[str | None] = [None] * size
    if found.null_count:
        valid = [False] * size
        rows = pc.indices_nonzero(found.is_null())
        for row, text in zip(rows.to_pylist(), texts(subjects.take(rows)), strict=True):
            if text is None:
                codes[row], reasons[row] = "not-text", MISSING
                continue
            try:
                Subject(text, dialect)
                valid[row] = True
            except SubjectError as error:
                codes[row], reasons[row] = error.code, error.problem
        if any(valid):
            found = pc.if_else(pa.array(valid), pa.scalar([], found.type), found)
    return pa.StructArray.from_arrays(
        [found.cast(pa.list_(pa.int64())), pa.array(codes, pa.string()), pa.array(reasons, pa.string())],
        ["routes", "code", "reason"],
    )
