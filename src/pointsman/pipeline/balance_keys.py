"""The keys that sticky routes go by, as a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pointsman.conditions import Predicate
from pointsman.conditions.nodes import Field
from pointsman.pipeline.columns import MessageColumns
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_balance_keys(rows: DataFrame, table: RoutingTable) -> DataFrame:
    """The rows with ``balance_key``: for the rows of sticky routes, the value of the field that the route names."""
    from pyspark.sql import functions as sf

    columns = MessageColumns(rows)
    key: Column = sf.lit(None).cast("string")
    written = {route.name: route.key for route in table.written.routes}
    for route in table.routes:
        text = written.get(route.name)
        if route.key is not None and text is not None:
            key = sf.when(rows["route"] == route.name, _value(text, columns)).otherwise(key)
    return rows.withColumn("balance_key", key)


def _value(text: str, columns: MessageColumns) -> Column:
    from pointsman.pipeline.predicates.fields import field_column

    field = next(iter(Predicate(f"({text}) IS NOT NULL").fields))
    if field.root in ("body", "time"):
        return _crossing(text, field, columns)
    return field_column(field, columns)


def _crossing(text: str, field: Field, columns: MessageColumns) -> Column:
    """A field that only Python reads as a table does: of the body, or a time."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    root = field.root

    def values(batches: Iterator[Any]) -> Iterator[Any]:
        from pointsman.message import Message
        from pointsman.table.field import field_of_message

        read = field_of_message(text)
        for batch in batches:
            encoded = batch.dictionary_encode()
            found = [
                None if each is None else read(Message("key", **{root: each}))
                for each in encoded.dictionary.to_pylist()
            ]
            yield pa.array(found, pa.string()).take(encoded.indices)

    values.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    udf: Any = arrow_udf(values, "string")
    column: Column = udf(getattr(columns, root))
    return column
