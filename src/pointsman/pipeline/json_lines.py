"""Files of messages, JSON Lines, as a DataFrame: what ``Message.from_dict`` makes of each line, and where it stands.

Spark splits the files and reads the lines; only their texts go to Python, as an Arrow column, where the reader of the
project makes messages of them. So a line means the same here as it does everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pointsman.errors import MessageError
from pointsman.pipeline.problem import PROBLEM, TYPE
from pointsman.table.message_lines import MAXIMUM_LINE, read_line

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

STAGE = "receive"
LINE_BITS = 40
"""Of a position: the line; the bits above are the number of the file."""
WHITE_SPACE = " \t\n\r\x0b\f"
TOO_LONG = f"the line is longer than {MAXIMUM_LINE} bytes"
TEXTS = ("subject", "id", "source", "correlation_id", "causation_id", "content_type")
MADE = "struct<{},metadata:map<string,string>,body:binary,time:timestamp,code:string,reason:string>".format(
    ",".join(f"{name}:string" for name in TEXTS)
)
COLUMNS = ("subject", "id", "metadata", "time", "source", "correlation_id", "causation_id", "content_type")


class Place(NamedTuple):
    """Where a line is."""

    file: str
    line: int


class Lines(NamedTuple):
    """The messages of some files, and the files in the order of their paths."""

    messages: DataFrame
    files: tuple[str, ...]

    def place(self, position: int) -> Place:
        """Where the message with this ``position`` was read."""
        return Place(self.files[position >> LINE_BITS], position & ((1 << LINE_BITS) - 1))


def read_lines(spark: SparkSession, path: str, options: Mapping[str, str]) -> Lines:
    """The messages, one row for each line that has text, with ``position``, which orders them by file and line.

    For a single file, ``position`` is the number of the line. A message without an id is called after its line, and
    after its file if there are several. A line that is no message has no subject; its text is the body, and its
    ``problem`` has the stage ``receive``, the code (``bad-json``, ``bad-message``) and the reason.

    The lines are counted here, which reads the files once; nothing else is computed. The options are those of Spark's
    format text. Raises what Spark raises.
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
    known = sf.broadcast(spark.createDataFrame(starts))
    placed = lines.join(known, ["file", "block"], "left").where(sf.length(sf.trim("line", sf.lit(WHITE_SPACE))) > 0)
    named = placed.select(
        sf.col("line").cast("binary").alias("line"),
        (sf.col("start") + sf.col("row")).alias("position"),
        sf.concat(sf.col("label"), (sf.col("offset") + sf.col("row")).cast("string")).alias("name"),
    )
    fits = sf.octet_length("line") <= MAXIMUM_LINE
    made = named.withColumn("made", _making()(sf.when(fits, sf.col("line")), sf.col("name")))
    code, reason = sf.col("made.code"), sf.col("made.reason")
    problem = sf.struct(sf.lit(STAGE).alias("stage"), code.alias("code"), reason.alias("reason")).cast(TYPE)
    messages = made.select(
        "position",
        *(sf.col(f"made.{name}").alias(name) for name in COLUMNS),
        sf.when(code.isNull(), sf.col("made.body")).otherwise(sf.col("line")).alias("body"),
        sf.when(code.isNotNull(), problem).alias(PROBLEM),
    )
    return Lines(messages, files)


def make_messages(lines: pa.Array[Any], names: pa.Array[Any]) -> pa.Array[Any]:
    """What each line holds, as structs; null is a line that is too long."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {name: [] for name in (*TEXTS, "metadata", "body", "time", "code", "reason")}
    for line, name in zip(lines.to_pylist(), names.to_pylist(), strict=True):
        code = reason = message = None
        try:
            if line is None:
                raise MessageError("bad-message", TOO_LONG)
            message = read_line(line, name)
        except MessageError as error:
            code, reason = error.code, error.problem
        for field in TEXTS:
            columns[field].append(getattr(message, field, None))
        columns["id"][-1] = name if message is None else message.id
        columns["metadata"].append(None if message is None else list(message.metadata.items()))
        columns["body"].append(None if message is None else message.body)
        columns["time"].append(None if message is None else message.time)
        columns["code"].append(code)
        columns["reason"].append(reason)
    kinds = {
        "metadata": pa.map_(pa.string(), pa.string()),
        "body": pa.binary(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    arrays = [pa.array(values, kinds.get(name, pa.string())) for name, values in columns.items()]
    return pa.StructArray.from_arrays(arrays, list(columns))


def _making() -> Any:
    import pyarrow as pa
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # it is there; its stub does not say so

    def make(lines: Any, names: Any) -> Any:
        return make_messages(lines, names)

    # Spark reads from the types that it works on columns; as text it could not find them here.
    make.__annotations__ = {"lines": pa.Array, "names": pa.Array, "return": pa.Array}
    return arrow_udf(make, MADE)


def _starts(lines: DataFrame) -> tuple[pa.Table, tuple[str, ...]]:
    """For each part of a file that a task reads, what turns its rows into positions and lines; and the files."""
    import pyarrow as pa
    from pyspark.sql import functions as sf

    parts = lines.groupBy("file", "block").agg(sf.min("row").alias("first"), sf.count("*").alias("size")).collect()
    paths = sorted({part["file"] for part in parts})
    numbers = {path: number for number, path in enumerate(paths)}
    read = dict.fromkeys(paths, 0)
    rows: dict[str, list[Any]] = {name: [] for name in ("file", "block", "offset", "start", "label")}
    for part in sorted(parts, key=lambda part: (part["file"], part["block"])):
        file = part["file"]
        offset = read[file] + 1 - part["first"]
        read[file] += part["size"]
        label = f"{PurePosixPath(_local(file)).name} line " if len(paths) > 1 else "line "
        start = (numbers[file] << LINE_BITS) + offset
        for name, value in zip(rows, (file, part["block"], offset, start, label), strict=True):
            rows[name].append(value)
    kinds = {"file": pa.string(), "block": pa.int64(), "offset": pa.int64(), "start": pa.int64(), "label": pa.string()}
    return pa.table({name: pa.array(rows[name], kind) for name, kind in kinds.items()}), tuple(map(_local, paths))


def _local(url: str) -> str:
    """A file as one calls it, if Spark names it by a URL of this machine."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url
