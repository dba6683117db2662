"""The columns of a DataFrame of messages: those that the stages use where they are present."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FIELDS = {
    "subject": "string",
    "id": "string",
    "metadata": "map<string,string>",
    "body": "binary",
    "time": "timestamp",
    "source": "string",
    "correlation_id": "string",
    "causation_id": "string",
    "content_type": "string",
    "principal": "string",
}
"""The fields of a message, and what a column must be, or be cast to, to hold one."""
ALLOWED = {
    "metadata": ("map<string,string>",),
    "body": ("binary", "string"),
    "time": ("timestamp", "timestamp_ntz"),
}


class MessageColumns:
    """A Column for each field of a message: NULL where the frame has no such column.

    Raises ``InputError`` (``bad-usage``) if there is no ``subject``, or if a column is of a type that cannot be.
    """

    subject: Column
    id: Column
    metadata: Column
    body: Column
    time: Column
    source: Column
    correlation_id: Column
    causation_id: Column
    content_type: Column
    principal: Column

    def __init__(self, frame: DataFrame) -> None:
        from pyspark.sql import functions as sf

        self._names = {field: find(frame, field) for field in FIELDS}
        if self._names["subject"] is None:
            known = ", ".join(map(repr, frame.columns))
            raise InputError("bad-usage", f"messages have no column 'subject', only {known}")
        for field, kind in FIELDS.items():
            name = self._names[field]
            if name is None:
                setattr(self, field, sf.lit(None).cast(kind))
                continue
            _check(frame, field, name)
            setattr(self, field, frame[name].cast(kind))

    def has(self, field: str) -> bool:
        """Whether the frame has a column for this field."""
        return self._names[field] is not None

    def name(self, field: str) -> str | None:
        """The name of the column of this field, as the frame spells it."""
        return self._names[field]


def find(frame: DataFrame, name: str) -> str | None:
    """The column of this name as the frame spells it: Spark overlooks case unless it is told not to."""
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    return next((column for column in frame.columns if (column if exact else column.lower()) == name), None)


def refuse_columns(frame: DataFrame, *names: str) -> None:
    """Raises ``InputError`` (``bad-usage``) if the frame has one of the columns that a stage is about to add."""
    for name in names:
        taken = find(frame, name)
        if taken is not None:
            raise InputError("bad-usage", f"messages have a column {taken!r} already; rename it first")


def _check(frame: DataFrame, field: str, name: str) -> None:
    kind = frame.schema[name].dataType.simpleString()
    allowed = ALLOWED.get(field, ("string",))
    if kind not in allowed and kind != "void":
        problem = f"the column {name!r} of messages is {kind}, not {' or '.join(allowed)}"
        raise InputError("bad-usage", problem)
