"""The keys that sticky routes go by, as a column."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pointsman.conditions import Predicate
from pointsman.pipeline.columns import MessageColumns, refuse_columns
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

BALANCE_KEY = "balance_key"


def with_balance_keys(rows: DataFrame, table: RoutingTable) -> DataFrame:
    """The rows with ``balance_key``: for the rows of sticky routes, the value of the field that the route names.

    Raises ``InputError`` (``bad-usage``) if there is such a column already.
    """
    from pyspark.sql import functions as sf

    refuse_columns(rows, BALANCE_KEY)
    columns = MessageColumns(rows)
    by_text: dict[str, list[str]] = {}
    for route in table.written.routes:
        if route.key is not None:
            by_text.setdefault(route.key, []).append(route.name)
    keys = [_value(text, columns, rows["route"].isin(names)) for text, names in by_text.items()]
    return rows.withColumn(BALANCE_KEY, sf.coalesce(*keys, sf.lit(None).cast("string")))


def _value(text: str, columns: MessageColumns, where: Column) -> Column:
    """The value of the field in the rows that are asked for, and NULL in all others."""
    from pyspark.sql import functions as sf

    from pointsman.pipeline.predicates.fields import field_column, time_column

    field = next(iter(Predicate(f"({text}) IS NOT NULL").fields))
    if field.root == "body":
        return _crossing(text, "body", sf.when(where, columns.body))
    if field.root == "time":
        return _crossing(text, "time", sf.when(where, sf.unix_micros(time_column(columns))))
    return sf.when(where, field_column(field, columns))


def _crossing(text: str, root: str, asked: Column) -> Column:
    """A field that only Python reads as a table does: of the body, or a time, in microseconds and then in UTC."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def values(batches: Iterator[Any]) -> Iterator[Any]:
        from pointsman.message import Message
        from pointsman.pipeline.predicates.fields import EPOCH
        from pointsman.table.field import field_of_message

        read = field_of_message(text)

        def value(each: Any) -> str | None:
            if each is None:
                return None
            if root == "body":
                return read(Message("key", each))
            return read(Message("key", time=EPOCH + timedelta(microseconds=each)))

        for batch in batches:
            encoded = batch.dictionary_encode()
            yield pa.array(map(value, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)

    values.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    udf: Any = arrow_udf(values, "string")
    column: Column = udf(asked)
    return column
