"""Messages read from and written to any format that Spark knows, by its name and its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.columns import PROBLEM, TYPE, find, is_fine, with_problem, with_problems
from pointsman.pipeline.destinations.folder import CSV
from pointsman.pipeline.json_lines import PLACE, STAGE, as_messages, read_lines, stream_texts, without_files
from pointsman.pipeline.queue_source import register
from pointsman.pipeline.spark.errors import spark_errors
from pointsman.table.tools.messages_file import LINE_BITS, NO_NAMES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FORMATS = {
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".csv": "csv",
    ".parquet": "parquet",
    ".orc": "orc",
    ".avro": "avro",
    ".db": "pointsman",
}
"""By the ending of a file's name."""
COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
CORRUPT = "_corrupt_record"
WITH_SCHEMA = ("csv", "parquet", "orc", "avro")
"""Formats of files that Spark streams only if it is told their columns."""
DATE, CLOCK = r"^\d{4}-\d{1,2}-\d{1,2}", r"[T ]\d{1,2}:\d{1,2}"
REST = {rf"{DATE}{CLOCK}:\d{{1,2}}(\.\d*)?$": "Z", f"{DATE}{CLOCK}$": ":00Z", f"{DATE}$": "T00:00:00Z"}
"""What to add to times that name no zone."""
NO_OPTIONS: Mapping[str, Any] = {}


class Line(NamedTuple):
    """Where a message was read."""

    file: str
    number: int


class Archive(NamedTuple):
    """Messages that were read, and their files if they were read from JSON Lines."""

    messages: DataFrame
    files: tuple[str, ...] | None = None

    def line(self, place: int) -> Line | None:
        """The line of the message with this ``PLACE``, where that is known."""
        if self.files is None:
            return None
        return Line(self.files[place >> LINE_BITS], place & ((1 << LINE_BITS) - 1))


def read_messages(
    spark: SparkSession, path: str | Path, format_name: str | None = None, options: Mapping[str, str] = NO_OPTIONS
) -> DataFrame:
    """The messages of a file or folder, for ``pipeline.route``; as ``read_archive``."""
    return read_archive(spark, path, format_name, options).messages.drop(PLACE)


def read_archive(
    spark: SparkSession, path: str | Path, format_name: str | None = None, options: Mapping[str, str] = NO_OPTIONS
) -> Archive:
    """The messages of a file or folder, in any format of Spark; without a format, the one that ``format_of`` finds.

    ``json`` is that of the project, JSON Lines as ``read_lines`` reads them; the option ``schema`` (such as
    ``amount double, colour string``) names what lines may have besides. ``pointsman`` is the queue, by the path of its
    file. In CSV the first line has the names of the columns, unless the options say otherwise. Where ``metadata`` is
    text it is read as a JSON object, and ``time`` as a timestamp.

    What cannot be read so has a ``problem`` with the stage ``receive`` and the code ``bad-message``; no row is left
    out. Raises ``InputError``: ``no-file``, ``bad-usage`` for a format that cannot be told, ``spark-failed`` for
    anything else that Spark refuses; and ``MissingExtraError`` without pyspark.
    """
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    name = format_of(path) if format_name is None else format_name
    own = dict(options)
    schema = own.pop("schema", None)
    # Spark would look from where its Java was started.
    whole = str(path) if "://" in str(path) else str(Path(path).absolute())
    with spark_errors(str(path)):
        if name == "json":
            messages, files = read_lines(spark, whole, own, schema)
            return Archive(messages, tuple(_as_given(file, whole, path) for file in files))
        if name == "pointsman":
            register(spark)
        return Archive(_fit(_load(spark, whole, name, own, schema)))


def stream_messages(
    spark: SparkSession,
    path: str | None,
    format_name: str,
    options: Mapping[str, Any] = NO_OPTIONS,
    names: Mapping[str, str] = NO_NAMES,
    *,
    placed: bool = False,
    without: Sequence[str] = (),
) -> DataFrame:
    """The messages of a source as a stream, in any format of Spark; read as ``read_archive`` reads them.

    With ``placed`` those of JSON and of a queue have ``PLACE``, a text by which those of a batch are in their order.
    The files ``without`` are not read.
    ``names`` are the fields of a message by the columns, or the keys of JSON, that hold them, where these are others.
    CSV, Parquet, ORC and Avro have the columns of the option ``schema``, or of the files that are there now. Raises
    ``InputError``: ``bad-usage`` if a column that is named is not there, ``no-file`` or ``spark-failed`` for what Spark
    refuses.
    """
    from pyspark.sql import functions as sf

    own = dict(options)
    schema = own.pop("schema", None)
    with spark_errors(path or format_name):
        if format_name == "json":
            lines = stream_texts(spark, path, own, without, placed=placed)
            # A stream does not know the numbers of lines, by which messages without an id would be named.
            return as_messages(lines.withColumn("name", sf.lit(None).cast("string")), schema, names)
        stream = _load(spark, path, format_name, own, schema, stream=True, without=without)
        if placed and format_name == "pointsman":
            stream = stream.withColumn(PLACE, sf.lpad(stream["sequence"].cast("string"), 20, "0"))
        for column, field in names.items():
            if find(stream, column) is None:
                raise InputError("bad-usage", f"the source has no column {column!r} for {field!r}")
            stream = stream.withColumnRenamed(column, field)
        return _fit(stream)


def format_of(path: str | Path) -> str:
    """The format that the names of a file, or of the files in a folder, end with.

    Raises ``InputError``: ``no-file`` if there is nothing there, ``bad-usage`` if they end with none that is known here
    or with several.
    """
    here = Path(path)
    if "://" not in str(path) and not here.exists():
        raise InputError("no-file", "it cannot be read: there is no such file or folder", file=str(path))
    if here.is_dir() and (here / "_delta_log").is_dir():
        return "delta"
    found = {_ending(name) for name in (_files(here) if here.is_dir() else [here])}
    if len(found) != 1 or None in found:
        known = ", ".join(FORMATS)
        problem = "no format can be told from its name" if len(found) < 2 else "its files have several formats"
        raise InputError("bad-usage", f"{problem} (known endings: {known}): name the format", file=str(path))
    return str(found.pop())


def _load(
    spark: SparkSession,
    path: str | None,
    name: str,
    options: dict[str, Any],
    schema: str | None,
    *,
    stream: bool = False,
    without: Sequence[str] = (),
) -> DataFrame:
    from pyspark.sql.types import StringType, StructField, StructType

    chosen = {**CSV, "columnPruning": "false", **options} if name == "csv" else options
    reader = (spark.readStream if stream else spark.read).format(name).options(**chosen)
    if schema is not None:
        kind = StructType.fromDDL(schema)
    elif name == "csv" or (stream and name in WITH_SCHEMA):
        kind = spark.read.format(name).options(**chosen).load(path).schema
    else:
        return without_files(reader.load(path), without)
    if not isinstance(kind, StructType):
        raise InputError("bad-usage", f"the option 'schema' has no columns with names: {schema!r}")
    if name != "csv":
        return without_files(reader.schema(kind).load(path), without)
    read = reader.schema(StructType([*kind.fields, StructField(CORRUPT, StringType())]))
    loaded = read.options(mode="PERMISSIVE", columnNameOfCorruptRecord=CORRUPT).load(path)
    return _with_corrupt(without_files(loaded, without))


def _with_corrupt(loaded: DataFrame) -> DataFrame:
    """The rows with a problem where one could not be read; its text is the body then."""
    from pyspark.sql import functions as sf

    told = find(loaded, PROBLEM)
    if told is not None and loaded.schema[told].dataType.simpleString() == "string":
        # As CSV has it that a pipeline has written.
        loaded = loaded.withColumn(told, sf.from_json(loaded[told], TYPE))
    corrupt = loaded[CORRUPT]
    frame = with_problem(loaded, STAGE, "bad-message", sf.lit("the row is not as the columns say"), corrupt.isNotNull())
    body = find(frame, "body")
    kept = corrupt if body is None else sf.coalesce(corrupt.cast(frame.schema[body].dataType), frame[body])
    return frame.withColumn(body or "body", kept).drop(CORRUPT)


def _fit(frame: DataFrame) -> DataFrame:
    """The rows with ``metadata`` as a map and ``time`` as a timestamp, where they are texts, and the body as bytes."""
    from pyspark.sql import functions as sf

    made = _with_bytes(with_problems(frame))
    for field, what in (("metadata", "a JSON object of texts"), ("time", "a time")):
        name = find(made, field)
        if name is None or made.schema[name].dataType.simpleString() != "string":
            continue
        text = made[name]
        read = sf.from_json(text, "map<string,string>") if field == "metadata" else _time(text)
        reason = sf.concat(sf.lit(f"{field} is not {what}: "), text)
        made = with_problem(made, STAGE, "bad-message", reason, text.isNotNull() & read.isNull())
        made = made.withColumn(name, sf.when(is_fine(made), read))
    return made


def _time(text: Column) -> Column:
    """The timestamp in a text; one that names no zone is in UTC, whatever the zone of the session is."""
    from pyspark.sql import functions as sf

    plain = sf.trim(text)
    zoned = plain
    for form, rest in REST.items():
        zoned = sf.when(plain.rlike(form), sf.concat(plain, sf.lit(rest))).otherwise(zoned)
    return sf.try_to_timestamp(zoned)


def _with_bytes(frame: DataFrame) -> DataFrame:
    """The rows with the bytes of ``body_base64`` as their body, where there is such a column, as ``save`` writes it."""
    from pyspark.sql import functions as sf

    encoded, body = find(frame, "body_base64"), find(frame, "body")
    if encoded is None or frame.schema[encoded].dataType.simpleString() != "string":
        return frame
    text, read = frame[encoded], sf.try_to_binary(frame[encoded], sf.lit("base64"))
    plain = sf.lit(None).cast("binary") if body is None else frame[body].cast("binary")
    reason = sf.lit("body_base64 is not Base64, or there is a body as well")
    wrong = text.isNotNull() & (read.isNull() | plain.isNotNull())
    told = with_problem(frame, STAGE, "bad-message", reason, wrong)
    return told.withColumn(body or "body", sf.coalesce(read, plain)).drop(encoded)


def _as_given(file: str, whole: str, path: str | Path) -> str:
    return f"{path}{file.removeprefix(whole)}" if file.startswith(whole) else file


def _files(folder: Path) -> Iterator[Path]:
    """The files that Spark reads of a folder."""
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
            yield path


def _ending(path: Path) -> str | None:
    name = path.with_suffix("") if path.suffix in COMPRESSED else path
    return FORMATS.get(name.suffix.lower())
