"""The stage ``resolve``: from messages to the subscriptions that want them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, LimitError, MissingExtraError, PatternError
from pointsman.pipeline.spark.kind import folder_to_ship_from, refuse_connect_stream, ship, shipped
from pointsman.pipeline.stages import resolve_routes
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions, compile_subscriptions
from pointsman.pipeline.subscriptions.conditions import resolve_conditions
from pointsman.pipeline.subscriptions.frame import has_more_than_patterns
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.remembered import RememberingIndex

FIRST_ROWS = 1 << 6
MOST_ROWS = 1 << 16
MOST_IDS = 1 << 20
"""How many ids an array handed to Spark should have at the most; a subject that matches more is alone in its array."""

_shipping = Lock()


def resolve(
    messages: DataFrame, to: DataFrame | CompiledSubscriptions | RoutingTable, dialect: str | None = None, **how: Any
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


def resolve_subscriptions(messages: DataFrame, subscriptions: DataFrame, dialect: str | None = None) -> DataFrame:
    """One row for each message and each subscription whose pattern matches its subject, as ``Pattern.matches`` says.

    ``messages`` needs the text column ``subject``; it may be a batch or a stream, and nothing of it is computed here.
    ``subscriptions`` needs ``subscription_id``, of any type, and the text column ``pattern``; a column ``dialect`` says
    in which dialect a pattern is written, where it is not null, and else ``dialect`` does; without either it is
    ``nats``, and a wildcard of another dialect makes the pattern invalid. Out come the columns of the message as they
    are and ``subscription_id``. A subscription of several rows, or of one row twice, gives a row for each of them that
    matches. Messages whose subject is null, or invalid in every dialect used, give no rows; setting them aside is not
    built yet.

    The subscriptions are collected and compiled now: a stream goes on with what they were at this moment. On a cluster
    this package must be installed on every host. Safe between threads.

    Raises ``InputError`` (``bad-usage``) when a column is missing or not of text or when the messages have a column
    ``subscription_id`` already, ``InvalidPatternsError`` with the number of the row and the subscription of every
    invalid pattern, ``PatternError`` (``unknown-dialect``), and ``InputError`` (``classic-session-needed``) for a
    stream on Spark Connect.
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    refuse_connect_stream(messages, "resolve")
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
    name = _ship(messages.sparkSession, chosen.toArrow(), dialect)
    matching = _matching(name, chosen.schema["subscription_id"].dataType)
    return messages.select("*", sf.explode(matching(subject)).alias("subscription_id"))


def _matching(name: str, id_type: DataType) -> Any:
    """The function from a subject to the ids of the subscriptions in the shipped index of this name.

    It gives the ids themselves, of whatever type. Positions, joined to ids of text by a broadcast in the JVM, took a
    tenth less CPU at best, and the table to join would be sent out again in every micro-batch.
    """
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so
    from pyspark.sql.types import ArrayType

    def subscriptions_of(columns: Iterator[Any]) -> Iterator[Any]:
        return lists(opened(shipped(name)), columns)

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


# -- the index as one file, which the driver ships and the workers of a host map and share


def _ship(spark: SparkSession, subscriptions: pa.Table, dialect: str | None) -> str:
    """The name under which every worker finds the index of these subscriptions, by ``shipped``.

    The table has the columns ``subscription_id`` and ``pattern`` and may have ``dialect``. The name comes from the
    content: the same subscriptions in the same order are compiled and shipped once in the life of the session. Safe
    between threads. Raises ``InvalidPatternsError``, whose failures are counted by the rows of the table and name the
    subscription.
    """
    name = f"pointsman-{_digest(subscriptions, dialect)}.index"
    path = folder_to_ship_from(spark) / name
    with _shipping:
        if not path.exists():
            _compile(subscriptions, dialect).save(path)
            _warm(path)
    return ship(spark, path)


@lru_cache(maxsize=4)
def opened(path: str) -> RememberingIndex:
    """The index in a file, mapped once in the life of a process; the driver has verified it.

    It remembers the subjects of all batches and tasks that the process gets.
    """
    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.remembered import RememberingIndex

    return RememberingIndex(CompiledIndex.open(path, verify=False))


def lists(index: CompiledIndex | RememberingIndex, columns: Iterator[pa.Array[Any]]) -> Iterator[pa.Array[Any]]:
    """The lists of ids for columns of subjects, row by row, in arrays of about ``MOST_IDS`` ids or less.

    It looks at few rows first and at more as long as few of them match, so that memory stays flat.
    """
    rows = FIRST_ROWS
    for column in columns:
        start = 0
        while start < len(column):
            try:
                found = index.match(column.slice(start, rows))
            except LimitError:
                if rows == 1:
                    raise
                rows = rows // 2
                continue
            yield found
            start += len(found)
            fitting = len(found) * MOST_IDS // max(len(found.values), 1)
            rows = max(1, min(fitting, 8 * rows, MOST_ROWS))


def _digest(subscriptions: pa.Table, dialect: str | None) -> str:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, subscriptions.schema) as writer:
        writer.write_table(subscriptions.combine_chunks())
    digest = hashlib.sha256(sink.getvalue())
    # Patterns that were compiled because their dialect was chosen are not to be found where it was not.
    digest.update((dialect or "").encode())
    return digest.hexdigest()[:32]


def _compile(subscriptions: pa.Table, dialect: str | None) -> CompiledIndex:
    import pyarrow as pa

    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.invalid import InvalidPatternsError

    patterns, ids = subscriptions["pattern"], subscriptions["subscription_id"]
    rows = _rows_by_dialect(subscriptions, dialect)
    order = pa.concat_arrays(rows.values())
    columns = {name: patterns.take(chosen) for name, chosen in rows.items()}
    try:
        return CompiledIndex.build(columns, ids=ids.take(order))
    except InvalidPatternsError as error:
        failures = []
        for number, failure in error.failures:
            row = order[number].as_py()
            problem = f"of subscription {ids[row].as_py()!r}: {failure.problem}"
            failures.append((row, PatternError(failure.code, problem, text=failure.text, column=failure.column)))
        raise InvalidPatternsError(sorted(failures, key=lambda failure: failure[0])) from None


def _rows_by_dialect(subscriptions: pa.Table, dialect: str | None) -> dict[str | None, pa.Array[Any]]:
    """The numbers of the rows whose patterns are of each dialect; None is one that nobody chose."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "dialect" not in subscriptions.column_names or not len(subscriptions):
        return {dialect: pa.array(range(len(subscriptions)), pa.int64())}
    names = subscriptions["dialect"].combine_chunks()
    chosen = names if dialect is None else names.fill_null(dialect)
    return {
        name: pc.indices_nonzero(chosen.is_null() if name is None else pc.equal(chosen, name))
        for name in chosen.unique().to_pylist()
    }


def _warm(path: Path) -> None:
    """Verifies the file, and has compiled all that workers will run of the kernels before they are there to do it."""
    import pyarrow as pa

    from pointsman.matching.compiled import CompiledIndex
    from pointsman.matching.remembered import RememberingIndex

    index = CompiledIndex.open(path)
    # Through a stream, as the workers get it: compiled code tells buffers that can be written from those that cannot.
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([pa.array(["a", None])], ["subject"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    column = pa.ipc.open_stream(sink.getvalue()).read_next_batch().column(0)
    index.match(column)
    index.match(column.dictionary_encode())
    RememberingIndex(index).match(column)
