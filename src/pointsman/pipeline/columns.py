"""The columns of a DataFrame of messages: those that the stages use where they are present, and ``problem``.

Each stage fills in what is wrong with a row, so that no row ever disappears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, MessageError
from pointsman.message import Message

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PROBLEM = "problem"
TYPE = "struct<stage:string,code:string,reason:string>"
FIELDS = {
    "subject": "string",
    "original_subject": "string",
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
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
    original_subject: Column
    id: Column
    metadata: Column
    body: Column
    time: Column
    source: Column
    correlation_id: Column
    causation_id: Column
    content_type: Column
    principal: Column

    def __init__(self, frame: DataFrame, fields: Iterable[str] = FIELDS) -> None:
        """``fields`` are those that are asked for; columns of the others are not looked at."""
        self._frame = frame
        self._names = find_all(frame, fields)
        if self._names["subject"] is None:
            known = ", ".join(map(repr, frame.columns))
            raise InputError("bad-usage", f"messages have no column 'subject', only {known}")
        for field, name in self._names.items():
            if name is not None:
                _check(frame, field, name)

    def __getattr__(self, field: str) -> Column:
        # Made when it is asked for: each call for Spark takes its time.
        from pyspark.sql import functions as sf

        if field not in FIELDS:
            raise AttributeError(field)
        name = self._names[field]
        if name is None and field == "original_subject":
            # Before the stage ``translate`` it is the same.
            return self.subject
        column = sf.lit(None) if name is None else self._frame[name]
        if name is None or self._frame.schema[name].dataType.simpleString() != FIELDS[field]:
            column = column.cast(FIELDS[field])
        setattr(self, field, column)
        return column

    def has(self, field: str) -> bool:
        """Whether the frame has a column for this field."""
        return self._names[field] is not None

    def name(self, field: str) -> str | None:
        """The name of the column of this field, as the frame spells it."""
        return self._names[field]


def find(frame: DataFrame, name: str) -> str | None:
    """The column of this name as the frame spells it: Spark overlooks case unless it is told not to."""
    return find_all(frame, [name])[name]


def find_all(frame: DataFrame, names: Iterable[str]) -> dict[str, str | None]:
    """``find`` for several names."""
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    spelled: dict[str, str] = {}
    for column in frame.columns:
        spelled.setdefault(column if exact else column.lower(), column)
    return {name: spelled.get(name) for name in names}


def refuse_columns(frame: DataFrame, *names: str) -> None:
    """Raises ``InputError`` (``bad-usage``) if the frame has one of the columns that a stage is about to add."""
    for taken in find_all(frame, names).values():
        if taken is not None:
            raise InputError("bad-usage", f"messages have a column {taken!r} already; rename it first")


def with_problems(frame: DataFrame) -> DataFrame:
    """The frame with the column ``problem``; NULL in all rows if it was not there.

    Raises ``InputError`` (``bad-usage``) if there is a column of this name that holds something else.
    """
    from pyspark.sql import functions as sf

    name = find(frame, PROBLEM)
    if name is None:
        return frame.withColumn(PROBLEM, sf.lit(None).cast(TYPE))
    kind = frame.schema[name].dataType.simpleString()
    if kind != TYPE:
        raise InputError("bad-usage", f"the column {name!r} of messages is {kind}, not {TYPE}; rename it first")
    return frame


def with_problem(frame: DataFrame, stage: str, code: Column | str, reason: Column, where: Column) -> DataFrame:
    """The frame with this problem in the rows where the condition is TRUE and that have none so far."""
    from pyspark.sql import functions as sf

    named = sf.lit(code) if isinstance(code, str) else code
    made = sf.struct(sf.lit(stage).alias("stage"), named.alias("code"), reason.alias("reason")).cast(TYPE)
    base = with_problems(frame)
    return base.withColumn(PROBLEM, sf.when(base[PROBLEM].isNull() & where, made).otherwise(base[PROBLEM]))


def is_fine(frame: DataFrame) -> Column:
    """Whether nothing is wrong with a row so far."""
    return frame[PROBLEM].isNull()


def _check(frame: DataFrame, field: str, name: str) -> None:
    kind = frame.schema[name].dataType.simpleString()
    allowed = ALLOWED.get(field, ("string",))
    if kind not in allowed and kind != "void":
        problem = f"the column {name!r} of messages is {kind}, not {' or '.join(allowed)}"
        raise InputError("bad-usage", problem)


def message_of(row: Mapping[str, Any]) -> Message:
    """The message of a row as workers get it: the time in microseconds, the metadata as a mapping or pairs.

    NULL is the default of a field. Raises ``MessageError`` if a value cannot be used.
    """
    fields: dict[str, Any] = {name: row.get(name) for name in ("content_type", "correlation_id", "causation_id")}
    fields |= {name: row[name] for name in ("source", "id") if row.get(name) is not None}
    try:
        time = None if row["time"] is None else EPOCH + timedelta(microseconds=row["time"])
    except OverflowError:
        raise MessageError("bad-message", "time is outside the years 1 to 9999") from None
    pairs = row.get("metadata") or {}
    metadata = {key: value for key, value in dict(pairs).items() if value is not None}
    return Message(row["subject"], row["body"] or b"", metadata=metadata, time=time, **fields)


def arrow_column(
    work: Callable[[Iterator[Any]], Iterator[Any]], kind: Any, *columns: Column, deterministic: bool = True
) -> Column:
    """The Column that ``work`` makes on the workers, of this type, from Arrow arrays of these columns.

    It gets an array for each batch of rows, or a tuple of them for several columns, and gives as many rows.
    """
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def find(batches: Iterator[Any]) -> Iterator[Any]:
        yield from work(batches)

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    given: Any = pa.Array if len(columns) == 1 else tuple[(pa.Array,) * len(columns)]  # type: ignore[misc]
    find.__annotations__ = {"batches": Iterator[given], "return": Iterator[pa.Array]}
    function = arrow_udf(find, kind)
    made: Column = (function if deterministic else function.asNondeterministic())(*columns)
    return made
