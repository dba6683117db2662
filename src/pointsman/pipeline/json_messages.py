"""Lines of JSON in a column, read by the project's own reader: many at a time, as Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, MessageError
from pointsman.pipeline.problem import PROBLEM, TYPE
from pointsman.table.message_lines import MAXIMUM_LINE, NO_NAMES, POSITION, PRINCIPAL, Received, read_received

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

STAGE = "receive"
TOO_LONG = f"the line is longer than {MAXIMUM_LINE} bytes"
TEXTS = ("subject", "id", "source", "correlation_id", "causation_id", "content_type")
COLUMNS = {
    **dict.fromkeys(TEXTS, "string"),
    "metadata": "map<string,string>",
    "time": "timestamp",
    PRINCIPAL: "string",
    POSITION: "bigint",
}
"""What is read of a line besides its body."""
MADE = ",".join(
    f"{name}:{kind}" for name, kind in {**COLUMNS, "body": "binary", "code": "string", "reason": "string"}.items()
)
CORRUPT = "pointsman_corrupt"


def as_messages(lines: DataFrame, schema: str | None = None, names: Mapping[str, str] = NO_NAMES) -> DataFrame:
    """The messages of the column ``line`` (string), as ``read_received`` reads them; ``name`` is the id of one without.

    ``schema`` names further keys that a line may have, and their types: ``amount double, colour string``. They become
    columns; what it says of the fields of a message is overlooked. ``names`` are as for ``read_received``. Columns but
    ``line`` and ``name`` pass through.

    A line that is no message has no subject; its text is the body, and its ``problem`` has the stage ``receive``, the
    code (``bad-json``, ``bad-message``) and the reason. Nothing is computed here, and it may be a stream. Raises
    ``InputError`` (``bad-usage``) for a schema that is none.
    """
    from pyspark.sql import functions as sf

    further = _further(schema)
    others = frozenset(further.names if further else ())
    given = [name for name in lines.columns if name not in ("line", "name")]
    fits = sf.octet_length("line") <= MAXIMUM_LINE
    making = _making(others, dict(names))
    made = lines.withColumn("made", making(sf.when(fits, sf.col("line").cast("binary")), sf.col("name")))
    code, reason = sf.col("made.code"), sf.col("made.reason")
    if further:
        made = made.withColumn("further", _read_further(further))
        wrong = code.isNull() & sf.col(f"further.{CORRUPT}").isNotNull()
        code = sf.when(wrong, sf.lit("bad-message")).otherwise(code)
        reason = sf.when(wrong, sf.lit("the line is not as the columns say")).otherwise(reason)
    problem = sf.struct(sf.lit(STAGE).alias("stage"), code.alias("code"), reason.alias("reason")).cast(TYPE)
    fine = code.isNull()
    read = {name: sf.col(f"made.{name}") for name in COLUMNS}
    if further:
        read["subject"] = sf.when(fine, read["subject"])
    return made.select(
        *given,
        *(column.alias(name) for name, column in read.items()),
        sf.when(fine, sf.col("made.body")).otherwise(sf.col("line").cast("binary")).alias("body"),
        sf.when(~fine, problem).alias(PROBLEM),
        *(sf.when(fine, sf.col("further")[name]).alias(name) for name in sorted(others)),
    )


def make_messages(
    lines: pa.Array[Any],
    names: pa.Array[Any],
    others: frozenset[str] = frozenset(),
    keys: Mapping[str, str] = NO_NAMES,
) -> pa.Array[Any]:
    """What each line holds, as structs; null is a line that is too long."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [] for name in (*COLUMNS, "body", "code", "reason")}
    for line, name in zip(lines.to_pylist(), names.to_pylist(), strict=True):
        code = reason = received = None
        try:
            if line is None:
                raise MessageError("bad-message", TOO_LONG)
            received = read_received(line, name, others, keys)
        except MessageError as error:
            code, reason = error.code, error.problem
        _add(columns, received, name)
        columns["code"].append(code)
        columns["reason"].append(reason)
    kinds = {
        "metadata": pa.map_(pa.string(), pa.string()),
        "body": pa.binary(),
        "time": pa.timestamp("us", tz="UTC"),
        POSITION: pa.int64(),
    }
    arrays = [pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()]
    return pa.StructArray.from_arrays(arrays, list(columns))


def _add(columns: dict[str, list[Any]], received: Received | None, name: str | None) -> None:
    """Adds what a line holds to the columns; nothing but the name for one that is no message."""
    message = None if received is None else received.message
    for field in TEXTS:
        columns[field].append(getattr(message, field, None))
    if received is None or not received.has_id:
        columns["id"][-1] = name
    columns["metadata"].append(None if message is None else list(message.metadata.items()))
    columns["body"].append(None if message is None else message.body)
    columns["time"].append(None if message is None else message.time)
    columns[PRINCIPAL].append(None if received is None else received.principal)
    columns[POSITION].append(None if received is None else received.position)


def _further(schema: str | None) -> StructType | None:
    """The columns that are no fields of a message; None if there are none."""
    from pyspark.sql.types import StructType

    if schema is None:
        return None
    kind = StructType.fromDDL(schema)
    if not isinstance(kind, StructType):
        raise InputError("bad-usage", f"the option 'schema' has no columns with names: {schema!r}")
    known = {*COLUMNS, "body", "body_base64", PROBLEM}
    fields = [field for field in kind.fields if field.name.lower() not in known]
    return StructType(fields) if fields else None


def _read_further(further: StructType) -> Any:
    """The further columns of a line, read in the JVM."""
    from pyspark.sql import functions as sf
    from pyspark.sql.types import StringType, StructField, StructType

    kind = StructType([*further.fields, StructField(CORRUPT, StringType())])
    return sf.from_json("line", kind, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT})


def _making(others: frozenset[str], keys: dict[str, str]) -> Any:
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def make(lines: Any, names: Any) -> Any:
        return make_messages(lines, names, others, keys)

    # Spark reads from the types that it works on columns; as text it could not find them here.
    make.__annotations__ = {"lines": pa.Array, "names": pa.Array, "return": pa.Array}
    return arrow_udf(make, f"struct<{MADE}>")
