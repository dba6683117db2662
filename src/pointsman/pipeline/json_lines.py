"""Files of messages, JSON Lines, as a DataFrame: what ``Message.from_dict`` makes of each line, and where it stands.

Spark splits the files and reads the lines; only their texts go to Python, as an Arrow column, where the reader of the
project makes messages of them. So a line means the same here as it does everywhere else, in a batch and in a stream.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from pointsman.pipeline.json_messages import as_messages
from pointsman.table.message_lines import NO_NAMES

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

PLACE = "pointsman_place"
"""The column that orders the messages of a batch by file and line."""
LINE_BITS = 40
"""Of a place: the line; the bits above are the number of the file."""
WHITE_SPACE = " \t\n\r\x0b\f"


class Place(NamedTuple):
    """Where a line is."""

    file: str
    line: int


class Lines(NamedTuple):
    """The messages of some files, and the files in the order of their paths."""

    messages: DataFrame
    files: tuple[str, ...]

    def place(self, place: int) -> Place:
        """Where the message with this ``PLACE`` was read."""
        return Place(self.files[place >> LINE_BITS], place & ((1 << LINE_BITS) - 1))


def read_lines(spark: SparkSession, path: str, options: Mapping[str, Any], schema: str | None = None) -> Lines:
    """The messages of files, one row for each line that has text, with ``PLACE``; as ``as_messages`` makes them.

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
    known = sf.broadcast(spark.createDataFrame(starts))
    placed = lines.join(known, ["file", "block"], "left").where(_has_text())
    named = placed.select(
        "line",
        (sf.col("start") + sf.col("row")).alias(PLACE),
        sf.concat(sf.col("label"), (sf.col("offset") + sf.col("row")).cast("string")).alias("name"),
    )
    messages = as_messages(named, schema)
    return Lines(messages.withColumn("position", sf.coalesce("position", PLACE)), files)


def stream_lines(
    spark: SparkSession,
    path: str | None,
    options: Mapping[str, Any],
    schema: str | None = None,
    names: Mapping[str, str] = NO_NAMES,
    *,
    placed: bool = False,
    without: Sequence[str] = (),
) -> DataFrame:
    """The messages of files as a stream: one row for each line that has text, as ``as_messages`` makes them.

    A message without an id has none here, for a stream does not know the numbers of lines. With ``placed`` they have
    ``PLACE``, a text by which those of one batch are in the order of their files and lines. The files ``without``
    are not read. The options are those of Spark's format text, as a stream. Raises what Spark raises, and as
    ``as_messages``.
    """
    from pyspark.sql import functions as sf

    text = spark.readStream.format("text").options(**{"lineSep": "\n", **options}).load(path)
    lines = without_files(text, without).select(
        sf.col("value").alias("line"),
        sf.lit(None).cast("string").alias("name"),
        *([_placing()("_metadata.file_path", "_metadata.file_block_start").alias(PLACE)] if placed else ()),
    )
    return as_messages(lines.where(_has_text()), schema, names)


def stream_texts(
    spark: SparkSession, path: str | None, options: Mapping[str, Any], without: Sequence[str] = ()
) -> DataFrame:
    """The lines of files as a stream, in the column ``line``: one row for each that has text."""
    from pyspark.sql import functions as sf

    text = spark.readStream.format("text").options(**{"lineSep": "\n", **options}).load(path)
    return without_files(text, without).select(sf.col("value").alias("line")).where(_has_text())


def without_files(loaded: DataFrame, names: Sequence[str]) -> DataFrame:
    """What was loaded of files, without those of these names, as Spark names them; Spark does not open these."""
    from pyspark.sql import functions as sf

    if not names:
        return loaded
    spelled = {spelling for name in names for spelling in (name, name.replace("file:///", "file:/"))}
    return loaded.where(~sf.col("_metadata.file_path").isin(sorted(spelled)))


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
        label = f"{PurePosixPath(local_path(file)).name} line " if len(paths) > 1 else "line "
        start = (numbers[file] << LINE_BITS) + offset
        for name, value in zip(rows, (file, part["block"], offset, start, label), strict=True):
            rows[name].append(value)
    kinds = {"file": pa.string(), "block": pa.int64(), "offset": pa.int64(), "start": pa.int64(), "label": pa.string()}
    return pa.table({name: pa.array(rows[name], kind) for name, kind in kinds.items()}), tuple(map(local_path, paths))


def local_path(url: str) -> str:
    """A file as one calls it, if Spark names it by a URL of this machine."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url
