"""The fields of a message as Spark has them, made to be what Python would see.

A text that is no UTF-8 and a time that Python has no ``datetime`` for cannot be in a ``Message``; they are NULL here,
whichever way they go on.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pointsman.conditions.nodes import Field

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pointsman.pipeline.columns import MessageColumns

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_TIME = datetime.min.replace(tzinfo=UTC)
LAST_TIME = datetime.max.replace(tzinfo=UTC)


def field_column(field: Field, columns: MessageColumns) -> Column:
    """The column of a field that is a text or a time."""
    if field.root == "metadata":
        return metadata_column(str(field.path[0]), columns)
    if field.root == "time":
        return time_column(columns)
    return text_column(getattr(columns, field.root))


def metadata_column(key: str, columns: MessageColumns) -> Column:
    """The value under a key of the metadata; NULL without the key."""
    from pyspark.sql import functions as sf

    return text_column(sf.try_element_at(columns.metadata, sf.lit(key)))


def text_column(text: Column) -> Column:
    """The text, or NULL if it is no UTF-8."""
    from pyspark.sql import functions as sf

    return sf.try_validate_utf8(text)


def time_column(columns: MessageColumns) -> Column:
    """The time, or NULL if it is not in the years 1 to 9999."""
    from pyspark.sql import functions as sf

    inside = columns.time.between(time_literal(FIRST_TIME), time_literal(LAST_TIME))
    return sf.when(inside, columns.time)


def time_literal(time: datetime) -> Column:
    """A time as Spark has it, whatever the time zone of the session."""
    from pyspark.sql import functions as sf

    return sf.timestamp_micros(sf.lit((time - EPOCH) // timedelta(microseconds=1)))
