"""The stage ``authorize``: a message whose principal may not publish to its subject is set aside."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pointsman.access.rule import Operation
from pointsman.errors import MissingExtraError
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.problem import is_fine, with_problem, with_problems
from pointsman.pipeline.subject_map import REMEMBERED, map_pairs
from pointsman.pipeline.table_file import opened_table, part_of, ship_table
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

STAGE, CODE = "authorize", "publish-refused"
REFUSAL = "pointsman_refusal"


def authorize(messages: DataFrame, table: RoutingTable, *, principal: str | None = None) -> DataFrame:
    """The messages, with a ``problem`` for each that ``RoutingTable.decide`` refuses by the access rules of the table.

    Who publishes a message is said by ``principal`` for all of them, and else by the column ``principal``. A message
    without one is that of a trusted caller, and so is every message of a table without access rules. The code is
    ``publish-refused``, and the reason is that of ``Access.check``. A message without a subject passes here, and
    ``resolve`` sets it aside. Rows that have a problem already are left alone, and no row is added or taken away.

    Nothing is computed here: it may be a batch or a stream. Only the principal and the subject go to Python, and only
    where there is something to ask. Safe between threads. Raises ``InputError`` (``bad-usage``) when a column is
    missing or of another type, and ``MissingExtraError`` without pyspark.
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    base = with_problems(messages)
    columns = MessageColumns(base)
    if table.access is None or (principal is None and not columns.has("principal")):
        return base
    publisher = columns.principal if principal is None else sf.lit(principal)
    refusal = refusing(ship_table(base.sparkSession, part_of(table, "access")), "publish")
    asked = base.withColumn(REFUSAL, refusal(publisher, sf.when(is_fine(base), columns.subject)))
    return with_problem(asked, STAGE, CODE, asked[REFUSAL], asked[REFUSAL].isNotNull()).drop(REFUSAL)


def refusals(
    table: RoutingTable, principals: pa.Array[Any], subjects: pa.Array[Any], operation: Operation = "publish"
) -> pa.Array[Any]:
    """Why each principal may not do so with the subject beside it; null where it may, and where one of them is null."""
    import pyarrow as pa

    return map_pairs(principals, subjects, _refuser(table, operation), pa.string())


@lru_cache(maxsize=8)
def _refuser(table: RoutingTable, operation: Operation) -> Callable[[str, str], str | None]:
    """The function from a principal and a subject to why the table refuses that, which remembers its answers."""
    access = table.access

    @lru_cache(maxsize=REMEMBERED)
    def refuse(principal: str, subject: str) -> str | None:
        verdict = None if access is None else access.check(principal, operation, subject)
        return None if verdict is None or verdict.allowed else verdict.reason

    return refuse


def refusing(name: str, operation: Operation) -> Any:
    """The function from a principal and a subject to why that is refused, by the shipped table of this name."""
    import pyarrow as pa
    from pyspark import SparkFiles
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def refuse(principals: Any, subjects: Any) -> Any:
        return refusals(opened_table(SparkFiles.get(name)), principals, subjects, operation)

    # Spark reads from the types that it works on columns; as text it could not find them here.
    refuse.__annotations__ = {"principals": pa.Array, "subjects": pa.Array, "return": pa.Array}
    return arrow_udf(refuse, "string")
