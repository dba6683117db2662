"""Files of messages, JSON Lines, as a DataFrame: what ``Message.from_dict`` makes of each line, and where it stands.

Spark splits the files and reads the lines; only their texts go to Python, as an Arrow column, where ``columns.receive``
makes messages of them. So a line means the same here as it does everywhere else, in a batch and in a stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pointsman.errors import InputError
from pointsman.pipeline.columns import PROBLEM, TYPE
from pointsman.pipeline.crossing import FIELDS, RECEIVED
from pointsman.table.tools.messages_file import LINE_BITS, MAXIMUM_LINE, NO_NAMES, POSITION, WHITE_SPACE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

PLACE = "pointsman_place"
"""The column that orders the messages of a batch by file and line."""
STARTS = "file string, block bigint, offset bigint, start bigint, label string"
STAGE = "receive"
CORRUPT = "pointsman_corrupt"


def read_lines(
    spark: SparkSession, path: str, options: Mapping[str, Any], schema: str | None = None
) -> tuple[DataFrame, tuple[str, ...]]:
    """The messages of files, one row for each line that has text, with ``PLACE``; and the files in their order.

    ``position`` is what the line says, or else its place, which for a single file is the number of the line. A message
    without an id is called after its line, and after its file if there are several.

    The lines are counted here, which reads the files once; nothing else is computed. The options are those of Spark's
    format text. Raises what Spark raises, and as ``as_messages``.
    """
    from pyspark.sql import functions as sf

    text = spark.read.options(**{"lineSep": "\n", **options}).text(path)
    lines = text.select(
        sf.col("value").alias("line"),
        sf.col("_metadata.file_path").alias("file"),
        sf.col("_metadata.file_block_start").alias("block"),
        sf.monotonically_increasing_id().alias("row"),
    )
    starts, files = _starts(lines)
    known = sf.broadcast(spark.createDataFrame(starts, STARTS))
    placed = lines.join(known, ["file", "block"], "left").where(_has_text())
    named = placed.select(
        "line",
        (sf.col("start") + sf.col("row")).alias(PLACE),
        sf.concat(sf.col("label"), (sf.col("offset") + sf.col("row")).cast("string")).alias("name"),
    )
    messages = as_messages(named, schema)
    return messages.withColumn(POSITION, sf.coalesce(POSITION, PLACE)), files


def stream_texts(
    spark: SparkSession,
    path: str | None,
    options: Mapping[str, Any],
    without: Sequence[str] = (),
    *,
    placed: bool = False,
) -> DataFrame:
    """The lines of files as a stream, in the column ``line``: one row for each that has text.

    With ``placed`` they have ``PLACE``, a text that orders the lines of one batch by file and line. The files
    ``without`` are not read. The options are those of Spark's format text, as a stream. Raises what Spark raises.
    """
    from pyspark.sql import functions as sf

    text = spark.readStream.format("text").options(**{"lineSep": "\n", **options}).load(path)
    place = [_placing()("_metadata.file_path", "_metadata.file_block_start").alias(PLACE)] if placed else []
    return without_files(text, without).select(sf.col("value").alias("line"), *place).where(_has_text())


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
    from pyspark.sql.types import StringType, StructField, StructType

    further = _further(schema)
    others = frozenset(further.names if further else ())
    given = [name for name in lines.columns if name not in ("line", "name")]
    fits = sf.octet_length("line") <= MAXIMUM_LINE
    received = _receiver(others, dict(names))(sf.when(fits, sf.col("line").cast("binary")), sf.col("name"))
    made = lines.withColumn("made", received)
    code, reason = sf.col("made.problem.code"), sf.col("made.problem.reason")
    if further:
        kind = StructType([*further.fields, StructField(CORRUPT, StringType())])
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
        made = made.withColumn("further", sf.from_json("line", kind, options))
        wrong = code.isNull() & sf.col(f"further.{CORRUPT}").isNotNull()
        code = sf.when(wrong, sf.lit("bad-message")).otherwise(code)
        reason = sf.when(wrong, sf.lit("the line is not as the columns say")).otherwise(reason)
    problem = sf.struct(sf.lit(STAGE).alias("stage"), code.alias("code"), reason.alias("reason")).cast(TYPE)
    fine = code.isNull()
    read = {name: sf.col(f"made.{name}") for name in RECEIVED}
    if further:
        read["subject"] = sf.when(fine, read["subject"])
    read["body"] = sf.when(fine, read["body"]).otherwise(sf.col("line").cast("binary"))
    read[PROBLEM] = sf.when(~fine, problem)
    read |= {name: sf.when(fine, sf.col("further")[name]) for name in sorted(others)}
    return made.select(*given, *(column.alias(name) for name, column in read.items()))


def without_files(loaded: DataFrame, names: Sequence[str]) -> DataFrame:
    """What was loaded of files, without those of these names, as Spark names them; Spark does not open these."""
    from pyspark.sql import functions as sf

    if not names:
        return loaded
    spelled = {spelling for name in names for spelling in (name, name.replace("file:///", "file:/"))}
    return loaded.where(~sf.col("_metadata.file_path").isin(sorted(spelled)))


def _further(schema: str | None) -> StructType | None:
    """The columns that are no fields of a message; None if there are none."""
    from pyspark.sql.types import StructType

    if schema is None:
        return None
    kind = StructType.fromDDL(schema)
    if not isinstance(kind, StructType):
        raise InputError("bad-usage", f"the option 'schema' has no columns with names: {schema!r}")
    fields = [field for field in kind.fields if field.name.lower() not in (*RECEIVED, "body_base64")]
    return StructType(fields) if fields else None


def _receiver(others: frozenset[str], keys: dict[str, str]) -> Any:
    """``columns.receive`` for columns of Spark."""
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def made(lines: Any, names: Any) -> Any:
        from pointsman.columns.receive import receive

        found = receive(lines, names, others, keys)
        return pa.StructArray.from_arrays([each.combine_chunks() for each in found.columns], found.column_names)

    # Spark reads from the types that it works on columns; as text it could not find them here.
    made.__annotations__ = {"lines": pa.Array, "names": pa.Array, "return": pa.Array}
    return arrow_udf(made, f"struct<{','.join(f'{name}:{FIELDS[name]}' for name in RECEIVED)}>")


def _placing() -> Any:
    """The function from the file and the block of each row of a task to its place: rows of a block are in their order.

    Spark has no such function for streams. It is said not to be deterministic, as it counts.
    """
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def place(columns: Iterator[Any]) -> Iterator[Any]:
        counts: Counter[tuple[str, int]] = Counter()
        for files, blocks in columns:
            made = []
            for block in zip(files.to_pylist(), blocks.to_pylist(), strict=True):
                counts[block] += 1
                made.append(f"{block[0]}\0{block[1]:016x}{counts[block]:016x}")
            yield pa.array(made, pa.string())

    # Spark reads from the types that it works on a stream of columns; as text it could not find them here.
    place.__annotations__ = {"columns": Iterator[tuple[pa.Array, pa.Array]], "return": Iterator[pa.Array]}
    return arrow_udf(place, "string").asNondeterministic()


def _has_text() -> Column:
    from pyspark.sql import functions as sf

    return sf.length(sf.trim("line", sf.lit(WHITE_SPACE))) > 0


def _starts(lines: DataFrame) -> tuple[list[tuple[Any, ...]], tuple[str, ...]]:
    """For each part of a file that a task reads, what turns its rows into positions and lines; and the files."""
    from pyspark.sql import functions as sf

    parts = lines.groupBy("file", "block").agg(sf.min("row").alias("first"), sf.count("*").alias("size")).collect()
    paths = sorted({part["file"] for part in parts})
    numbers = {path: number for number, path in enumerate(paths)}
    read = dict.fromkeys(paths, 0)
    rows = []
    for part in sorted(parts, key=lambda part: (part["file"], part["block"])):
        file = part["file"]
        offset = read[file] + 1 - part["first"]
        read[file] += part["size"]
        label = f"{PurePosixPath(local_path(file)).name} line " if len(paths) > 1 else "line "
        start = (numbers[file] << LINE_BITS) + offset
        rows.append((file, part["block"], offset, start, label))
    return rows, tuple(map(local_path, paths))


def local_path(url: str) -> str:
    """A file as one calls it, if Spark names it by a URL of this machine."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url
