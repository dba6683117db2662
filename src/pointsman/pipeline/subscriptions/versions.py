"""The versions of the subscriptions of a stream: the newest one, and those that batches worked with."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError, PointsmanError
from pointsman.pipeline.destinations.choice import names_of
from pointsman.pipeline.spark.errors import spark_errors
from pointsman.pipeline.state import batches
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions, compile_subscriptions
from pointsman.pipeline.subscriptions.frame import ID, with_destinations
from pointsman.pipeline.versions import Tables, Tell
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VERSION = "subscriptions"
KEPT = 5
"""Versions that are kept. Only the last batch can be repeated."""
FIELDS = (
    "id string, owner string, destinations array<string>, pattern string, dialect string, condition string, "
    "enabled boolean, expires double, description string"
)


class SubscriptionVersions:
    """Which subscriptions each batch of a stream works with, for ``foreachBatch``.

    A new version is taken up between two batches. A batch that is repeated after a crash works with the version that it
    began with, which is recorded, and kept in the checkpoint, before it begins. An unusable version is reported, and
    the one before it stays.
    """

    def __init__(
        self,
        read: Callable[[], DataFrame],
        checkpoint: str | Path,
        *,
        stamp: Callable[[], object] = object,
        tell: Tell = lambda *_, **__: None,
        **how: Any,
    ) -> None:
        """``read`` returns the subscriptions as they are now. They are read again when ``stamp`` returns another value;
        without it, for each batch. ``tell`` is called with each version that is taken up or refused, as in
        ``tell("subscriptions-taken-up", version=…, instead_of=…)``. ``how`` is for ``compile_subscriptions``. The
        checkpoint must be one of this stream alone.

        Raises, for the first version, what ``compile_subscriptions`` raises, and ``InputError`` if Spark cannot read it
        (``no-file``, ``spark-failed``).
        """
        self._read = read
        self._stamp = stamp
        self._tell = tell
        self._how = how
        self._checkpoint = Path(checkpoint)
        self._folder = self._checkpoint / "pointsman" / "subscriptions"
        self._seen = stamp()
        self._current = self._compiled()

    @classmethod
    def of_files(
        cls,
        spark: SparkSession,
        path: str | Path,
        checkpoint: str | Path,
        *,
        read: Callable[[SparkSession, str | Path], DataFrame] | None = None,
        **how: Any,
    ) -> SubscriptionVersions:
        """The versions of a file, or a folder of files, that ``pointsman subscriptions export`` writes: Parquet if its
        name ends so, or else JSON Lines. They are read, by ``read`` or ``read_files``, when a file has changed.
        """
        reading = read or read_files
        return cls(lambda: reading(spark, path), checkpoint, stamp=lambda: _times(Path(path)), **how)

    def __reduce__(self) -> str | tuple[Any, ...]:
        why = "versions of subscriptions are kept by the process that has them, and foreachBatch runs in another one"
        raise InputError("classic-session-needed", f"{why} on Spark Connect")

    def current(self) -> CompiledSubscriptions:
        """The newest version that can be used."""
        stamp = self._stamp()
        if stamp == self._seen:
            return self._current
        self._seen = stamp
        try:
            found = self._compiled()
        except PointsmanError as error:
            self._tell("subscriptions-refused", code=error.code, problem=str(error), kept=self._current.version)
            return self._current
        if found.version != self._current.version:
            known = {"version": found.version, "instead_of": self._current.version}
            self._tell("subscriptions-taken-up", **known, mode=found.mode, why=found.why)
            self._current = found
            self._forget()
        return self._current

    def of_batch(self, batch: int) -> CompiledSubscriptions:
        """The version that a batch works with: the newest, or the one that it began with before.

        Raises ``InputError`` (``bad-state``) if that is not kept any more, and as ``batches.begin``.
        """
        return self.begin(batch)[0]

    def begin(self, batch: int) -> tuple[CompiledSubscriptions, float]:
        """``of_batch``, and the time at which the batch began first, by which subscriptions expire."""
        current = self.current()
        begun = batches.begin(self._checkpoint, batch, {VERSION: current.version, "now": time.time()})
        version, now = str(begun.get(VERSION)), float(str(begun.get("now")))
        if version == current.version:
            return current, now
        try:
            return CompiledSubscriptions.open(self._folder, version), now
        except InputError as error:
            problem = f"the subscriptions {version} that batch {batch} began with are gone"
            raise InputError("bad-state", problem, file=error.file) from None

    def _compiled(self) -> CompiledSubscriptions:
        with spark_errors(VERSION):
            return compile_subscriptions(self._read(), folder=self._folder, **self._how)

    def _forget(self) -> None:
        """Removes the oldest versions."""
        manifests = sorted(self._folder.glob("pointsman-*.json"), key=lambda path: path.stat().st_mtime_ns)
        for manifest in manifests[:-KEPT]:
            manifest.unlink(missing_ok=True)
            for file in self._folder.glob(f"{manifest.stem}-*.subscriptions"):
                # Workers that have mapped it keep it until they are done.
                with contextlib.suppress(OSError):
                    file.unlink()


def read_files(spark: SparkSession, path: str | Path) -> DataFrame:
    """The subscriptions of exported files as a DataFrame; conditions are JSON texts."""
    if str(path).endswith(".parquet"):
        return spark.read.parquet(str(path))
    return spark.read.schema(FIELDS).option("mode", "FAILFAST").json(str(path))


def _times(path: Path) -> object:
    """When each file was changed, and how large it is."""
    found = []
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        with contextlib.suppress(OSError):
            known = file.stat()
            found.append((str(file), known.st_mtime_ns, known.st_size))
    return found


def versions_of_pipeline(
    spark: SparkSession, path: str, tables: Tables, checkpoint: Path, tell: Tell
) -> SubscriptionVersions:
    """The versions of the file that a pipeline names; the checkpoint must be one of its own.

    Raises as ``SubscriptionVersions``, and ``InputError`` (``bad-subscription``) for a subscription with a destination
    that the table does not have.
    """

    def read(spark: SparkSession, path: str | Path) -> DataFrame:
        found = with_destinations(read_files(spark, path))
        _check_destinations(found, tables.table, str(path))
        return found

    versions = SubscriptionVersions.of_files(spark, path, checkpoint, read=read, tell=tell)
    current = versions.current()
    tell("subscriptions", version=current.version, mode=current.mode, why=current.why)
    return versions


def _check_destinations(subscriptions: DataFrame, table: RoutingTable, path: str) -> None:
    """Raises ``InputError`` (``bad-subscription``) for a destination that the table does not have."""
    from pyspark.sql import functions as sf

    known = subscriptions.sparkSession.createDataFrame([(name,) for name in names_of(table)], "name string")
    asked = subscriptions.select(f"{ID}.id", sf.explode(f"{ID}.destinations").alias("name"))
    wrong = asked.join(sf.broadcast(known), "name", "left_anti").first()
    if wrong is not None:
        problem = f"subscription {wrong['id']!r}: the table has no destination {wrong['name']!r}"
        raise InputError("bad-subscription", problem, file=path)
