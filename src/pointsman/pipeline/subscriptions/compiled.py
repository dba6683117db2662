"""Subscriptions compiled for the workers: one version of them, in files that are named by what they hold."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pointsman.errors import InputError, MissingExtraError, PatternError, PointsmanError
from pointsman.pipeline.spark.files import PRIVATE, write_whole
from pointsman.pipeline.spark.kind import folder_to_ship_from, ship
from pointsman.pipeline.subscriptions.frame import ID, Weighed, chosen, shard_of_pattern, weigh
from pointsman.pipeline.subscriptions.lists import warmed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

LOG = logging.getLogger("pointsman.pipeline")
Mode = Literal["auto", "broadcast", "partitioned"]
WORKER_BYTES = 1 << 30
"""The largest index that each host is to hold as a whole, unless told otherwise."""
HERE = 50_000
"""Subscriptions that the driver compiles itself; more of them are compiled by workers."""
MOST_IN_A_PART = 2_000_000
"""Subscriptions in one file of the broadcast mode; a message is looked up in each file."""
PART = "pointsman_part"
CHUNK = 1 << 24
"""Bytes of an index that go to the driver in one piece."""
BUILT = "part int, data binary, problem string"


_compiling = Lock()


class Way(NamedTuple):
    """How messages meet the index, and why."""

    mode: Literal["broadcast", "partitioned"]
    parts: int
    """Files of the broadcast mode, or shards."""
    why: str


@dataclass(frozen=True, slots=True)
class CompiledSubscriptions:
    """One version of the subscriptions, for ``resolve``. ``str()`` says how it is used and why."""

    version: str
    """A hash of the subscriptions, their dialect and the way; it is the same for the same ones in any order."""
    mode: Literal["broadcast", "partitioned"]
    why: str
    count: int
    file_bytes: int
    folder: str
    shards: tuple[str | None, ...]
    """The file of each shard, None for one without subscriptions; empty in the broadcast mode."""
    common: tuple[str, ...]
    """The files that every message is looked up in."""
    id_type: str
    """The type of the ids, as Spark writes it in JSON."""
    expires: bool

    def __str__(self) -> str:
        files = f"{len(self.shards)} shards" if self.shards else f"{len(self.common)} file(s)"
        size = f"{self.count:,} subscriptions, {files}, {self.file_bytes / 1e6:,.1f} MB"
        return f"{self.mode}: {self.why} ({size}, version {self.version})"

    def many(self, page: int) -> bool:
        """Whether a message may reach more than a page of these."""
        return self.count > page

    def ids(self) -> DataType:
        """The type of the ids."""
        from pyspark.sql.types import _parse_datatype_json_string

        return _parse_datatype_json_string(self.id_type)

    def ship(self, spark: SparkSession) -> None:
        """Sends the files to all workers; each goes there once."""
        for name in (*self.shards, *self.common):
            if name is not None:
                ship(spark, Path(self.folder, name))

    @classmethod
    def open(cls, folder: str | Path, version: str) -> CompiledSubscriptions:
        """What ``compile_subscriptions`` left in a folder. Raises ``InputError`` (``no-file``) if it is not there."""
        path = _manifest(Path(folder), version)
        try:
            found = json.loads(path.read_bytes())
        except OSError:
            raise InputError(
                "no-file", f"subscriptions of the version {version} are not there", file=str(path)
            ) from None
        return cls(
            **found | {"folder": str(folder), "shards": tuple(found["shards"]), "common": tuple(found["common"])}
        )


def compile_subscriptions(
    subscriptions: DataFrame,
    dialect: str | None = None,
    *,
    mode: Mode = "auto",
    shards: int | None = None,
    worker_bytes: int = WORKER_BYTES,
    folder: str | Path | None = None,
) -> CompiledSubscriptions:
    """The subscriptions of a DataFrame as they are now, compiled for ``resolve``.

    It needs ``subscription_id`` (or ``id``), of any type, and any of ``pattern`` and ``dialect``, ``condition`` (JSON
    text) or ``includes`` and ``excludes``, ``enabled``, ``expires`` (seconds since 1970, or a timestamp).

    ``dialect`` is for patterns whose own is null; without either it is ``nats``, and a wildcard of another dialect is
    an error. ``mode``: "broadcast" has the whole index on each host, "partitioned" sends messages to ``shards``, and
    "auto" chooses by the estimated bytes of the index, of which a host should hold ``worker_bytes`` at the most. Tables
    of more than ``HERE`` are compiled by the workers. The same subscriptions in the same way are compiled once for a
    folder, which is that of the files that Spark ships unless one is given; it must be one of the driver's host.

    Raises ``InputError``: ``bad-usage`` for columns and arguments that cannot be used, ``bad-subscription`` for a
    subscription that cannot; ``PatternError``. Then nothing is left. Safe between threads.
    """
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    rows = chosen(subscriptions)
    weighed = weigh(rows)
    way = choose_way(weighed, mode, shards, worker_bytes)
    place = Path(folder) if folder is not None else folder_to_ship_from(subscriptions.sparkSession)
    version = f"{weighed.digest}-{dialect or 'default'}-{way.mode[0]}{way.parts}"
    with _compiling:
        if _manifest(place, version).exists():
            found = CompiledSubscriptions.open(place, version)
        else:
            place.mkdir(parents=True, exist_ok=True)
            found = _compiled(rows, dialect, weighed, way, place, version)
    LOG.info("resolve: %s", found)
    return found


def choose_way(weighed: Weighed, mode: Mode, shards: int | None, worker_bytes: int) -> Way:
    """How messages are to meet the index. Raises ``InputError`` (``bad-usage``)."""
    if mode not in ("auto", "broadcast", "partitioned"):
        raise InputError("bad-usage", f"there is no mode {mode!r}, only auto, broadcast and partitioned")
    if worker_bytes < 1 or (shards is not None and shards < 1):
        raise InputError("bad-usage", "there are at least one shard and one byte for it")
    size, room = f"about {weighed.index_bytes / 1e6:,.1f} MB", f"{worker_bytes / 1e6:,.1f} MB for each host"
    too_large = weighed.index_bytes > worker_bytes
    if mode == "partitioned" or (mode == "auto" and (too_large or shards is not None)):
        parts = shards or max(2, -(-weighed.index_bytes // worker_bytes))
        asked = "as asked for" if mode == "partitioned" else "shards are asked for"
        return Way("partitioned", parts, f"the index has {size}, of {room}" if mode == "auto" and too_large else asked)
    parts = max(1, -(-weighed.subscriptions // MOST_IN_A_PART))
    return Way("broadcast", parts, "as asked for" if mode == "broadcast" else f"the index has {size}, of {room}")


def _compiled(
    rows: DataFrame, dialect: str | None, weighed: Weighed, way: Way, folder: Path, version: str
) -> CompiledSubscriptions:
    from pyspark.sql import functions as sf

    count = way.parts + (way.mode == "partitioned")
    names = [f"pointsman-{version}-{part}.subscriptions" for part in range(count)]
    drafts = {part: folder / f".{name}" for part, name in enumerate(names)}
    for draft in drafts.values():
        # Also a link that somebody has put there, which writing would follow.
        draft.unlink(missing_ok=True)
    if count == 1 and weighed.subscriptions <= HERE:
        compile_here(rows, dialect, drafts[0])
        written = {0}
    else:
        shard = shard_of_pattern(rows["pattern"] if "pattern" in rows.columns else sf.lit(None), way.parts)
        spread = sf.pmod(sf.xxhash64(*rows.columns), sf.lit(way.parts)).cast("int")
        parted = rows.withColumn(PART, shard if way.mode == "partitioned" else spread)
        written = compile_on_workers(parted, dialect, drafts)
        if count - 1 not in written:
            # So that there is a file, and with it the type of the ids, for every message.
            compile_here(rows.limit(0), dialect, drafts[count - 1])
            written.add(count - 1)
    # Each of them is verified, also if the first one says that there is something that expires.
    expires = any([warmed(drafts[part]) for part in sorted(written)])  # noqa: C419 - as said
    for part in written:
        drafts[part].chmod(PRIVATE)
        drafts[part].replace(folder / names[part])
    kept = [name if part in written else None for part, name in enumerate(names)]
    shards, common = (kept[:-1], kept[-1:]) if way.mode == "partitioned" else ([], kept)
    found = CompiledSubscriptions(
        version,
        way.mode,
        way.why,
        weighed.subscriptions,
        sum((folder / names[part]).stat().st_size for part in written),
        str(folder),
        tuple(shards),
        tuple(name for name in common if name is not None),
        rows.schema["subscription_id"].dataType.json(),
        expires,
    )
    write_whole(_manifest(folder, version), json.dumps(asdict(found)).encode())
    return found


def _manifest(folder: Path, version: str) -> Path:
    return folder / f"pointsman-{version}.json"


# -- the files: written here, or by the workers


def compile_here(rows: DataFrame, dialect: str | None, path: Path) -> None:
    """Collects the rows and writes their index. Raises as ``raise_problem``."""
    problem = _compile(rows.toArrow(), dialect, path)
    if problem is not None:
        raise_problem(problem)


def compile_on_workers(rows: DataFrame, dialect: str | None, paths: Mapping[int, Path]) -> set[int]:
    """Writes an index for each part: the rows whose column ``PART`` has its number. A task compiles a part.

    The files come to the driver piece by piece, so that it never holds one of them. Returns the parts that have rows;
    the others have no file. Raises as ``raise_problem``; then no file is left.
    """
    from pyspark import StorageLevel

    def compile_part(batches: Iterator[Any]) -> Iterator[Any]:
        yield from part_rows(batches, dialect)

    parted = rows.repartitionById(max(paths) + 1, PART)
    built = parted.mapInArrow(compile_part, BUILT).persist(StorageLevel.DISK_ONLY)
    written: set[int] = set()
    try:
        # All parts at once; to read them one after the other would compile them one after the other.
        built.count()
        problems = built.where("problem IS NOT NULL").select("problem").take(1)
        if problems:
            raise_problem(problems[0]["problem"])
        for row in built.toLocalIterator():
            path = paths[row["part"]]
            with path.open("ab" if row["part"] in written else "wb") as file:
                file.write(row["data"])
            written.add(row["part"])
    except BaseException:
        for part in written:
            paths[part].unlink(missing_ok=True)
        raise
    finally:
        built.unpersist()
    return written


def part_rows(batches: Iterator[Any], dialect: str | None) -> Iterator[Any]:
    """The index of the rows of one part, as rows of ``BUILT``; or what is wrong with them."""
    import pyarrow as pa

    found = [batch for batch in batches if batch.num_rows]
    if not found:
        return
    table = pa.Table.from_batches(found)
    part = table[PART][0].as_py()
    with TemporaryDirectory(prefix="pointsman-") as folder:
        path = Path(folder, "part")
        problem = _compile(table.drop_columns([PART]), dialect, path)
        for piece in _pieces(path) if problem is None else [None]:
            yield pa.RecordBatch.from_arrays(
                [pa.array([part], pa.int32()), pa.array([piece], pa.binary()), pa.array([problem], pa.string())],
                ["part", "data", "problem"],
            )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            yield piece


def _compile(table: Any, dialect: str | None, path: Path) -> str | None:
    """Writes the index of a table; or says, as JSON, what is wrong with which subscription."""
    from pointsman.matching.invalid import InvalidPatternsError
    from pointsman.subscriptions.columns import SubscriptionIndex

    ids = table[ID]
    try:
        SubscriptionIndex.build(table, dialect, ids=ids).save(path)
    except InvalidPatternsError as error:
        row, failure = error.failures[0]
        more = f" (and {len(error.failures) - 1} more invalid patterns)" if len(error.failures) > 1 else ""
        problem = f"of subscription {ids[row].as_py()!r}: {failure.problem}{more}"
        return json.dumps({"kind": "pattern", "code": failure.code, "problem": problem, "text": failure.text})
    except PointsmanError as error:
        problem = error.problem
        if error.code == "bad-subscription" and error.text is not None:
            problem = problem.replace(f"subscription {error.text}", f"subscription {ids[int(error.text)].as_py()!r}", 1)
        kind = "pattern" if isinstance(error, PatternError) else "input"
        return json.dumps({"kind": kind, "code": error.code, "problem": problem, "text": None})
    return None


def raise_problem(problem: str) -> None:
    """Raises what ``_compile`` told: ``PatternError`` or ``InputError``, which name the subscription."""
    told = json.loads(problem)
    if told["kind"] == "pattern":
        raise PatternError(told["code"], told["problem"], text=told["text"])
    raise InputError(told["code"], told["problem"])
