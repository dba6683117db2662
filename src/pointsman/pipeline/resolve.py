"""The stage ``resolve``: from messages to the subscriptions that want them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.compiled_subscriptions import CompiledSubscriptions, compile_subscriptions
from pointsman.pipeline.index_file import lists, opened, ship
from pointsman.pipeline.resolve_conditions import resolve_conditions
from pointsman.pipeline.stages import resolve_routes
from pointsman.pipeline.subscription_frame import has_more_than_patterns
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType


def resolve(
    messages: DataFrame, to: DataFrame | CompiledSubscriptions | RoutingTable, dialect: str = "nats", **how: Any
) -> DataFrame:
    """The messages and whom they reach: the subscriptions of a DataFrame, or the routes of a table.

    With a table, ``resolve_routes`` says what comes out: the messages with ``routes`` and ``problem``. With a DataFrame
    of subscriptions that says nothing of them but their patterns, ``resolve_subscriptions`` does. With one that says
    more, or if it is told ``how``, they are compiled by ``compile_subscriptions``, and ``resolve_conditions`` says what
    comes out; ``how`` has further arguments for both. What was compiled can be given instead.
    """
    if isinstance(to, RoutingTable):
        return resolve_routes(messages, to)
    if isinstance(to, CompiledSubscriptions):
        return resolve_conditions(messages, to, **how)
    if how or has_more_than_patterns(to):
        own = {name: how.pop(name) for name in ("page", "now") if name in how}
        return resolve_conditions(messages, compile_subscriptions(to, dialect, **how), **own)
    return resolve_subscriptions(messages, to, dialect)


def resolve_subscriptions(messages: DataFrame, subscriptions: DataFrame, dialect: str = "nats") -> DataFrame:
    """One row for each message and each subscription whose pattern matches its subject, as ``Pattern.matches`` says.

    ``messages`` needs the text column ``subject``; it may be a batch or a stream, and nothing of it is computed here.
    ``subscriptions`` needs ``subscription_id``, of any type, and the text column ``pattern``; a column ``dialect``
    says in which dialect a pattern is written, where it is not null, and else ``dialect`` does. Out come the columns
    of the message as they are and ``subscription_id``. A subscription of several rows, or of one row twice, gives a
    row for each of them that matches. Messages whose subject is null, or invalid in every dialect used, give no rows;
    setting them aside is not built yet.

    The subscriptions are collected and compiled now: a stream goes on with what they were at this moment. On a cluster
    this package must be installed on every host. Safe between threads.

    Raises ``InputError`` (``bad-usage``) when a column is missing or not of text or when the messages have a column
    ``subscription_id`` already, ``InvalidPatternsError`` with the number of the row and the subscription of every
    invalid pattern, and ``PatternError`` (``unknown-dialect``).
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    subject = _column(messages, "messages", "subject", text=True)
    if _find(messages, "subscription_id") is not None:
        raise InputError("bad-usage", "messages have a column 'subscription_id' already; rename it first")
    columns = [
        _column(subscriptions, "subscriptions", "subscription_id").alias("subscription_id"),
        _column(subscriptions, "subscriptions", "pattern", text=True).alias("pattern"),
    ]
    if _find(subscriptions, "dialect") is not None:
        columns.append(_column(subscriptions, "subscriptions", "dialect", text=True).alias("dialect"))
    chosen = subscriptions.select(*columns)
    name = ship(messages.sparkSession.sparkContext, chosen.toArrow(), dialect)
    matching = _matching(name, chosen.schema["subscription_id"].dataType)
    return messages.select("*", sf.explode(matching(subject)).alias("subscription_id"))


def _matching(name: str, id_type: DataType) -> Any:
    """The function from a subject to the ids of the subscriptions in the shipped index of this name.

    It gives the ids themselves, of whatever type. Positions, joined to ids of text by a broadcast in the JVM, took a
    tenth less CPU at best, and the table to join would be sent out again in every micro-batch.
    """
    import pyarrow as pa
    from pyspark import SparkFiles
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so
    from pyspark.sql.types import ArrayType

    def subscriptions_of(columns: Iterator[Any]) -> Iterator[Any]:
        return lists(opened(SparkFiles.get(name)), columns)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    subscriptions_of.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return arrow_udf(subscriptions_of, ArrayType(id_type))


def _find(frame: DataFrame, name: str) -> str | None:
    """The column of this name as the frame spells it: Spark overlooks case unless it is told not to."""
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    return next((column for column in frame.columns if (column if exact else column.lower()) == name), None)


def _column(frame: DataFrame, what: str, name: str, *, text: bool = False) -> Column:
    """A column that must be there."""
    from pyspark.sql.types import StringType

    found = _find(frame, name)
    if found is None:
        raise InputError("bad-usage", f"{what} have no column {name!r}, only {', '.join(map(repr, frame.columns))}")
    kind = frame.schema[found].dataType
    if text and not isinstance(kind, StringType):
        raise InputError("bad-usage", f"the column {name!r} of {what} holds {kind.simpleString()}, not strings")
    return frame[found]
