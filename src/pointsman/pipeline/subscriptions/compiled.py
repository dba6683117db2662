"""Subscriptions compiled for the workers: one version, in files that are named by their content."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pointsman.errors import InputError, MissingExtraError, PatternError, PointsmanError
from pointsman.patterns.dialect import find_dialect
from pointsman.pipeline.spark.files import PRIVATE, write_whole
from pointsman.pipeline.spark.kind import folder_to_ship_from, ship
from pointsman.pipeline.subscriptions.frame import ID, Weighed, chosen, shard_of_pattern, weigh
from pointsman.pipeline.subscriptions.search import needs_metadata, verified

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

LOG = logging.getLogger("pointsman.pipeline")
Mode = Literal["auto", "broadcast", "partitioned"]
WORKER_BYTES = 1 << 30
"""The largest index that each host holds as a whole, by default."""
HERE = 50_000
"""The driver compiles tables of up to this many subscriptions, workers larger ones."""
MOST_IN_A_PART = 2_000_000
"""Subscriptions in one file of the broadcast mode; each message is looked up in each file."""
PART = "pointsman_part"
CHUNK = 1 << 24
"""Bytes of an index that go to the driver in one row."""
BUILT = "part int, data binary, problem string"

_compiling = Lock()


class Strategy(NamedTuple):
    """How messages meet the index, and why."""

    mode: Literal["broadcast", "partitioned"]
    parts: int
    """The number of files, or of shards."""
    why: str


@dataclass(frozen=True, slots=True)
class CompiledSubscriptions:
    """One version of the subscriptions, for ``resolve``. ``str()`` says how it is used and why."""

    version: str
    """A hash of the subscriptions, their dialect and the strategy; the order of the subscriptions does not matter."""
    mode: Literal["broadcast", "partitioned"]
    why: str
    count: int
    file_bytes: int
    folder: str
    shards: tuple[str | None, ...]
    """The file of each shard, None if it has no subscriptions; empty in the broadcast mode."""
    common: tuple[str, ...]
    """The files that every message is looked up in."""
    id_type: str
    """The type of the ids, as Spark writes it in JSON."""
    expires: bool
    needs_metadata: bool = True
    """Whether a subscription has a condition."""

    def __str__(self) -> str:
        files = f"{len(self.shards)} shards" if self.shards else f"{len(self.common)} file(s)"
        size = f"{self.count:,} subscriptions, {files}, {self.file_bytes / 1e6:,.1f} MB"
        return f"{self.mode}: {self.why} ({size}, version {self.version})"

    def list_type(self) -> DataType:
        """The type of a list of ids."""
        from pyspark.sql.types import ArrayType, _parse_datatype_json_string

        return ArrayType(_parse_datatype_json_string(self.id_type))

    def ship(self, spark: SparkSession) -> None:
        """Sends the files to all workers, once in the life of a session."""
        for name in (*self.shards, *self.common):
            if name is not None:
                ship(spark, Path(self.folder, name))

    @classmethod
    def open(cls, folder: str | Path, version: str) -> CompiledSubscriptions:
        """Reads what ``compile_subscriptions`` left in a folder. Raises ``InputError`` (``no-file``) if it is gone."""
        path = _manifest(Path(folder), version)
        try:
            found = json.loads(path.read_bytes())
        except OSError:
            raise InputError(
                "no-file", f"subscriptions of the version {version} are not there", file=str(path)
            ) from None
        files = {"shards": tuple(found["shards"]), "common": tuple(found["common"])}
        return cls(**found | files | {"folder": str(folder)})


def compile_subscriptions(
    subscriptions: DataFrame,
    dialect: str | None = None,
    *,
    mode: Mode = "auto",
    shards: int | None = None,
    worker_bytes: int = WORKER_BYTES,
    folder: str | Path | None = None,
) -> CompiledSubscriptions:
    """Compiles the subscriptions of a DataFrame, as they are now, for ``resolve``.

    It needs ``subscription_id`` (or ``id``), of any type, and any of ``pattern`` and ``dialect``, ``condition`` (JSON
    text) or ``includes`` and ``excludes``, ``enabled``, ``expires`` (seconds since 1970, or a timestamp).

    ``dialect`` is for patterns whose own is null; without either it is ``nats``, and a wildcard of another dialect is
    an error. ``mode``: "broadcast" puts the whole index on each host, "partitioned" sends messages to ``shards``, and
    "auto" chooses by the estimated size of the index: a host should hold ``worker_bytes`` at most. Tables of more than
    ``HERE`` subscriptions are compiled by the workers. The same subscriptions with the same strategy are compiled once
    for a ``folder``, which must be one of the driver's host; the default is that of the files that Spark ships.

    Raises ``InputError``: ``bad-usage`` for unusable columns and arguments, ``bad-subscription`` for an unusable
    subscription; ``InvalidPatternsError`` that names each subscription with an invalid pattern (its rows are those of
    the table if the driver compiles it); ``PatternError``. Nothing is left behind then. Safe between threads.
    """
    try:
        import pyspark.sql  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    if dialect is not None:
        find_dialect(dialect)
    rows = chosen(subscriptions)
    weighed = weigh(rows)
    strategy = choose_strategy(weighed, mode, shards, worker_bytes)
    where = Path(folder) if folder is not None else folder_to_ship_from(subscriptions.sparkSession)
    version = f"{weighed.digest}-{dialect or 'default'}-{strategy.mode[0]}{strategy.parts}"
    with _compiling:
        if _manifest(where, version).exists():
            found = CompiledSubscriptions.open(where, version)
        else:
            where.mkdir(parents=True, exist_ok=True)
            found = _compiled(rows, dialect, weighed, strategy, where, version)
    LOG.info("resolve: %s", found)
    return found


def choose_strategy(weighed: Weighed, mode: Mode, shards: int | None, worker_bytes: int) -> Strategy:
    """How messages are to meet the index. Raises ``InputError`` (``bad-usage``)."""
    if mode not in ("auto", "broadcast", "partitioned"):
        raise InputError("bad-usage", f"there is no mode {mode!r}, only auto, broadcast and partitioned")
    if worker_bytes < 1 or (shards is not None and shards < 1):
        raise InputError("bad-usage", "there are at least one shard and one byte for it")
    size = f"the index has about {weighed.index_bytes / 1e6:,.1f} MB, of {worker_bytes / 1e6:,.1f} MB for each host"
    why = size if mode == "auto" else "as asked for"
    too_large = weighed.index_bytes > worker_bytes
    if mode == "broadcast" or (mode == "auto" and shards is None and not too_large):
        return Strategy("broadcast", max(1, -(-weighed.subscriptions // MOST_IN_A_PART)), why)
    if mode == "auto" and not too_large:
        why = "shards are asked for"
    return Strategy("partitioned", shards or max(2, -(-weighed.index_bytes // worker_bytes)), why)


def _compiled(
    rows: DataFrame, dialect: str | None, weighed: Weighed, strategy: Strategy, folder: Path, version: str
) -> CompiledSubscriptions:
    from pyspark.sql import functions as sf

    is_sharded = strategy.mode == "partitioned"
    count = strategy.parts + is_sharded
    names = [f"pointsman-{version}-{part}.subscriptions" for part in range(count)]
    drafts = [folder / f".{name}" for name in names]
    for draft in drafts:
        # Also removes a link that somebody has put there, which writing would follow.
        draft.unlink(missing_ok=True)
    if count > 1 or weighed.subscriptions > HERE:
        part = sf.pmod(sf.xxhash64(*rows.columns), sf.lit(count)).cast("int")
        if is_sharded:
            part = shard_of_pattern(rows["pattern"] if "pattern" in rows.columns else sf.lit(None), strategy.parts)
        compile_on_workers(rows.withColumn(PART, part), dialect, drafts)
    if not drafts[-1].exists():
        # The last file is for every message, also if it is empty: it has the type of the ids.
        compile_here(rows.limit(0) if count > 1 else rows, dialect, drafts[-1])
    kept = [name if draft.exists() else None for name, draft in zip(names, drafts, strict=True)]
    written = [draft for draft in drafts if draft.exists()]
    indexes = [verified(draft) for draft in written]
    size = sum(draft.stat().st_size for draft in written)
    for draft in written:
        draft.chmod(PRIVATE)
        draft.replace(folder / draft.name.removeprefix("."))
    found = CompiledSubscriptions(
        version,
        strategy.mode,
        strategy.why,
        weighed.subscriptions,
        size,
        str(folder),
        tuple(kept[:-1]) if is_sharded else (),
        tuple(name for name in (kept[-1:] if is_sharded else kept) if name is not None),
        rows.schema[ID].dataType.json(),
        any(index.expires for index in indexes),
        any(map(needs_metadata, indexes)),
    )
    write_whole(_manifest(folder, version), json.dumps(asdict(found)).encode())
    return found


def _manifest(folder: Path, version: str) -> Path:
    return folder / f"pointsman-{version}.json"


# -- the files: written here, or by the workers


def compile_here(rows: DataFrame, dialect: str | None, path: Path) -> None:
    """Collects the rows and writes their index. Raises as ``raise_failures``."""
    failures = _compile(rows.toArrow(), dialect, path)
    if failures:
        raise_failures(failures)


def compile_on_workers(rows: DataFrame, dialect: str | None, paths: Sequence[Path]) -> None:
    """Writes an index for each part: the rows with its number in the column ``PART``. A task compiles a part.

    The files come to the driver piece by piece, so that it never holds one of them. A part without rows has no file.
    Raises as ``raise_failures``; no file is left then.
    """
    from pyspark import StorageLevel

    def compile_part(batches: Iterator[Any]) -> Iterator[Any]:
        yield from part_rows(batches, dialect)

    parted = rows.repartitionById(len(paths), PART)
    built = parted.mapInArrow(compile_part, BUILT).persist(StorageLevel.DISK_ONLY)
    try:
        # All parts at once; to read them one after the other would compile them one after the other.
        built.count()
        problems = built.where("problem IS NOT NULL").select("problem").collect()
        if problems:
            raise_failures([failure for row in problems for failure in json.loads(row["problem"])])
        for row in built.toLocalIterator():
            with paths[row["part"]].open("ab") as file:
                file.write(row["data"])
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    finally:
        built.unpersist()


def part_rows(batches: Iterator[Any], dialect: str | None) -> Iterator[Any]:
    """The index of the rows of one part, as rows of ``BUILT``; or what is wrong with them."""
    import pyarrow as pa

    found = [batch for batch in batches if batch.num_rows]
    if not found:
        return
    table = pa.Table.from_batches(found)
    part = table[PART][0].as_py()
    schema = pa.schema({"part": pa.int32(), "data": pa.binary(), "problem": pa.string()})
    with TemporaryDirectory(prefix="pointsman-") as folder:
        path = Path(folder, "part")
        failures = _compile(table.drop_columns([PART]), dialect, path)
        if failures:
            yield pa.RecordBatch.from_pylist([{"part": part, "problem": json.dumps(failures)}], schema)
            return
        with path.open("rb") as file:
            while piece := file.read(CHUNK):
                yield pa.RecordBatch.from_pylist([{"part": part, "data": piece}], schema)


def _compile(table: Any, dialect: str | None, path: Path) -> list[list[Any]]:
    """Writes the index of a table; or returns what is wrong with which subscriptions, as plain data."""
    from pointsman.matching.invalid import InvalidPatternsError
    from pointsman.subscriptions.columns import SubscriptionIndex

    ids = table[ID]
    failures: list[list[Any]] = []
    try:
        SubscriptionIndex.build(table, dialect, ids=ids).save(path)
    except InvalidPatternsError as error:
        for row, failure in error.failures:
            problem = f"of subscription {ids[row].as_py()!r}: {failure.problem}"
            failures.append([row, failure.code, problem, failure.text, failure.column])
    except PointsmanError as error:
        problem = error.problem
        if error.code == "bad-subscription" and error.text is not None:
            problem = problem.replace(f"subscription {error.text}", f"subscription {ids[int(error.text)].as_py()!r}", 1)
        kind = None if isinstance(error, PatternError) else "input"
        failures.append([kind, error.code, problem, None, None])
    return failures


def raise_failures(failures: list[list[Any]]) -> None:
    """Raises what ``_compile`` returned: ``InputError``, ``PatternError`` or ``InvalidPatternsError``."""
    from pointsman.matching.invalid import InvalidPatternsError

    for row, code, problem, _, _ in failures:
        if row == "input":
            raise InputError(code, problem)
        if row is None:
            raise PatternError(code, problem)
    raise InvalidPatternsError(
        [(row, PatternError(code, said, text=text, column=column)) for row, code, said, text, column in failures]
    )
