"""The stages that are measured, each as a function from messages to what comes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.bench.pipeline_data import DIALECT, REGIONS
from pointsman.bench.pipeline_rows import COLUMN, NAIVE, RESOLVE, ROUTE, ROWS, SCAN
from pointsman.bench.subjects import Texts
from pointsman.pipeline.stages import route
from pointsman.pipeline.subscriptions.resolve import resolve
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STRATEGIES = ("pattern", "priority", "content", "balanced", "direct")
DESTINATIONS = ("one", "two", "three", "four", "five")
REGEX = {"+": "[^/]*", "/#": "(/.*)?"}
"""What the wildcards are as regular expressions."""
WILDCARDS = "+#"


class Stage(NamedTuple):
    """What is done with messages."""

    name: str
    subscriptions: int | None
    make: Callable[[DataFrame], DataFrame]


def plain_stages() -> list[Stage]:
    """What the others are compared with: reading, whole rows to Python and back, and the subjects alone."""
    return [
        Stage(SCAN, None, lambda messages: messages),
        Stage(ROWS, None, _through_python),
        Stage(COLUMN, None, _subjects_through_python),
    ]


def resolve_stage(spark: SparkSession, patterns: Texts) -> Stage:
    """From a message to a row for each subscription that matches."""
    import pyarrow as pa

    table = pa.table({"subscription_id": pa.array(range(len(patterns)), pa.int64()), "pattern": patterns})
    subscriptions = spark.createDataFrame(table)
    return Stage(RESOLVE, len(patterns), lambda messages: resolve(messages, subscriptions, DIALECT))


def route_stage(patterns: Texts) -> Stage:
    """From a message to its deliveries, by a table with routes of these patterns and of five strategies."""
    table = five_strategies(patterns.to_pylist())
    return Stage(ROUTE, len(patterns), lambda messages: route(messages, table).rows)


def naive_stage(spark: SparkSession, patterns: Texts) -> Stage:
    """What people write: a join with a regular expression for each pattern."""
    import pyarrow as pa
    from pyspark.sql import functions as sf

    texts = [regular_expression(text) for text in patterns.to_pylist()]
    ids = pa.array(range(len(texts)), pa.int64())
    subscriptions = spark.createDataFrame(pa.table({"subscription_id": ids, "regex": pa.array(texts)}))

    def join(messages: DataFrame) -> DataFrame:
        joined = messages.join(sf.broadcast(subscriptions), sf.expr("subject RLIKE regex"))
        return joined.drop("regex")

    return Stage(NAIVE, len(texts), join)


def regular_expression(pattern: str) -> str:
    """The pattern as people would write it for ``rlike``."""
    for wildcard, regex in REGEX.items():
        pattern = pattern.replace(wildcard, regex)
    return f"^{pattern}$"


def five_strategies(patterns: Sequence[str]) -> RoutingTable:
    """A table with a route for each pattern, the strategies in turns; direct ones only where there is no wildcard."""
    routes = [_route(number, pattern) for number, pattern in enumerate(patterns)]
    return RoutingTable.from_plain(
        {"dialect": DIALECT, "destinations": dict.fromkeys(DESTINATIONS), "routes": routes},
    )


def _route(number: int, pattern: str) -> dict[str, Any]:
    strategy = STRATEGIES[number % len(STRATEGIES)]
    made: dict[str, Any] = {"name": f"route-{number}", "pattern": pattern, "strategy": strategy}
    if strategy == "direct" and any(wildcard in pattern for wildcard in WILDCARDS):
        made["strategy"] = strategy = "pattern"
    if strategy == "priority":
        made["priority"] = number % 10
    elif strategy == "content":
        made["when"] = f"metadata['region'] = '{REGIONS[number % len(REGIONS)]}'"
    elif strategy == "balanced":
        return made | {"balance": "sticky", "key": "metadata['tenant']", "destinations": [*DESTINATIONS]}
    return made | {"destinations": [DESTINATIONS[number % len(DESTINATIONS)]]}


def _through_python(messages: DataFrame) -> DataFrame:
    def same(batches: Iterator[Any]) -> Iterator[Any]:
        yield from batches

    return messages.mapInArrow(same, messages.schema)


def _subjects_through_python(messages: DataFrame) -> DataFrame:
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def same(columns: Iterator[Any]) -> Iterator[Any]:
        yield from columns

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    same.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return messages.withColumn("same", arrow_udf(same, "string")(messages["subject"]))
