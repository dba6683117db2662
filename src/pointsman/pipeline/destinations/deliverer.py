"""The deliveries of batches: all rows are written once, and other destinations read their slices from there.

    <out>/routed/batch=7/outcome=delivered/destination=audit/…    the deliveries to a destination
    <out>/routed/batch=7/outcome=quarantined/…                    and so on for every outcome

A batch that is repeated after a crash replaces what it wrote, and changes nothing elsewhere. A destination that fails
does not hold up the others; its deliveries become dead letters with the reason.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from pointsman.pipeline.columns import refuse_columns
from pointsman.pipeline.destinations import dead_letters
from pointsman.pipeline.destinations.choice import Destinations, names_of
from pointsman.pipeline.destinations.dead_letters import DEAD, Counts, with_reason
from pointsman.pipeline.destinations.folder import RESTORED, OwnFolder, restore, save
from pointsman.pipeline.destinations.http import Http
from pointsman.pipeline.destinations.place import REASON, Destination, Turn, escaped, reason_of
from pointsman.pipeline.spark.files import files_of
from pointsman.pipeline.state.breakers import WAITING, Outcome
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

LOG = logging.getLogger("pointsman.pipeline")
TOLD = "pointsman_told"
WORKER_DIED = "Python worker exited unexpectedly"
"""How Spark says it, in all its exceptions."""
ROUTED = "routed"
WAITS = "waiting"
"""The outcome of deliveries whose destination has an open breaker and no fallback."""
BY = ("outcome", "destination")
"""The columns that have a folder for each of their values."""
DROPPED = ("probe", "waits")
"""Columns that say nothing any more when rows are written."""


class Group(NamedTuple):
    """How many deliveries of a batch are alike."""

    destination: str
    instead_of: str | None
    waits: bool
    deliveries: int


class Failure(NamedTuple):
    """What of the deliveries to a destination was not made."""

    reason: str
    """Why none was made, if none was."""
    undelivered: DataFrame | None = None
    """Those that were not, if others were."""


class Written(NamedTuple):
    """What became of the deliveries of a batch."""

    outcomes: dict[str, Outcome]
    """By the destination that they were for, before any fallback."""
    dead: dict[str, Counts]
    """The dead letters, by the destination that they went to."""
    failures: dict[str, Failure]


class Slices:
    """The rows of a batch as they were written, by outcome and destination."""

    def __init__(self, spark: SparkSession, path: str, form: str, schema: StructType) -> None:
        self.spark = spark
        self.path = path
        self._form = form
        self._schema = schema

    def of(self, outcome: str, destination: str | None = None) -> DataFrame:
        """The rows of an outcome, or of one of its destinations; only for what is there."""
        from pyspark.sql import functions as sf
        from pyspark.sql.types import StructType

        fields = [field for field in self._schema.fields if field.name != BY[0]]
        inner = [field for field in fields if field.name != BY[1]]
        folder = f"{self.path}/{BY[0]}={outcome}"
        if destination is None:
            return restore(self.spark, folder, self._form, StructType(fields))
        rows = restore(self.spark, self.folder(outcome, destination), self._form, StructType(inner))
        named = rows.withColumn(BY[1], sf.lit(destination))
        return named.select(*(field.name for field in fields))

    def folder(self, outcome: str, destination: str) -> str:
        """Where the rows of an outcome and a destination are."""
        return f"{self.path}/{BY[0]}={outcome}/{BY[1]}={escaped(destination)}"

    def has(self, outcome: str) -> bool:
        """Whether there are rows of an outcome."""
        return files_of(self.spark).exists(f"{self.path}/{BY[0]}={outcome}")

    def nothing(self) -> DataFrame:
        """No rows, with the columns of all."""
        return self.spark.createDataFrame([], self._schema).drop(BY[0])

    def groups_beside(self, known: Sequence[str]) -> list[Group]:
        """Deliveries to destinations that are none of these."""
        found = []
        names = {f"{BY[1]}={escaped(name)}" for name in known}
        for folder in files_of(self.spark).names(f"{self.path}/{BY[0]}=delivered"):
            if folder.startswith(BY[1]) and folder not in names:
                name = unquote(folder.removeprefix(f"{BY[1]}="))
                found.append(Group(name, None, False, self.of("delivered", name).count()))
        return found


class Deliverer:
    """Writes the batches of one query and makes their deliveries."""

    def __init__(self, destinations: Destinations, out: str, query: str, form: str, *, following: bool = False) -> None:
        self._destinations = destinations
        self._out = out
        self._query = query
        # What cannot be read back as it was is not what other destinations read from.
        self._form = form if form in RESTORED else "parquet"
        self._following = following

    def write(self, rows: DataFrame, batch: int) -> Slices:
        """Writes all rows of a batch, which have ``outcome`` and ``destination``, in one job."""
        from pyspark.sql import functions as sf

        refuse_columns(rows, DEAD)
        if "waits" in rows.columns:
            rows = rows.withColumn(BY[0], sf.when(rows["waits"], WAITS).otherwise(rows[BY[0]]))
        shown = rows.drop(*DROPPED)
        path = f"{self._out}/{ROUTED}/batch={batch}"
        save(shown, self._form, {}, path, by=BY)
        return Slices(rows.sparkSession, path, self._form, shown.schema)

    def deliver(self, slices: Slices, table: RoutingTable, batch: int, groups: Iterable[Group]) -> Written:
        """Makes the deliveries that were written and live elsewhere; there are so many of each group.

        What fails is told, not raised. Those that wait, because a breaker is open and there is no fallback, become dead
        letters at once. Raises if the dead letters cannot be written.
        """
        groups = list(groups)
        waiting = {group.destination for group in groups if group.waits}
        names = sorted({group.destination for group in groups if not group.waits})
        failures = self._make(slices, table, batch, names)
        dead = {}
        for name in sorted({*failures, *waiting}):
            letters = _letters(slices, name, failures.get(name), waits=name in waiting)
            dead[name] = dead_letters.write(letters, self._out, name, batch)
        dead_letters.clear(files_of(slices.spark), self._out, batch, dead)
        return Written(_outcomes(groups, failures, dead), dead, failures)

    def tidy(self, slices: Slices, table: RoutingTable, groups: Iterable[Group]) -> None:
        """Removes the slices of destinations that live elsewhere, once their deliveries are made or dead."""
        files = files_of(slices.spark)
        for group in groups:
            if group.waits or not isinstance(self._destinations.known(group.destination, table), OwnFolder):
                files.remove(slices.folder(WAITS if group.waits else "delivered", group.destination))
        for outcome in ("delivered", WAITS):
            if not files.has_files(f"{slices.path}/{BY[0]}={outcome}"):
                files.remove(f"{slices.path}/{BY[0]}={outcome}")
        if not files.has_files(slices.path):
            files.remove(slices.path)

    def _make(self, slices: Slices, table: RoutingTable, batch: int, names: list[str]) -> dict[str, Failure]:
        elsewhere: dict[str, Destination] = {}
        failures: dict[str, Failure] = {}
        known = names_of(table)
        for name in names:
            if name not in known:
                # A subscription may ask for one that the table had before.
                failures[name] = Failure(f"the table has no destination {name!r}")
                continue
            try:
                destination = self._destinations.of(name, table)
            except Exception as error:
                failures[name] = Failure(reason_of(error))
                continue
            if not isinstance(destination, OwnFolder):
                elsewhere[name] = destination
        # An endpoint may be slow; only other endpoints wait for it.
        for name, destination in sorted(elsewhere.items(), key=lambda each: isinstance(each[1], Http)):
            turn = Turn(name, batch, self._query, self._following)
            failure = attempt(destination, slices.of("delivered", name), turn)
            if failure is not None:
                failures[name] = failure
        return failures


def _letters(slices: Slices, name: str, failure: Failure | None, *, waits: bool) -> DataFrame:
    from pyspark.sql import functions as sf

    found = []
    if failure is not None:
        found.append(undelivered(slices.of("delivered", name), failure, sf.lit(1)))
    if waits:
        found.append(with_reason(slices.of(WAITS, name), sf.lit(WAITING), sf.lit(0)))
    return found[0] if len(found) == 1 else found[0].unionByName(found[1])


def attempt(destination: Destination, rows: DataFrame, turn: Turn, *, may_repeat: bool = True) -> Failure | None:
    """Makes the deliveries of one destination; returns what was not made, and why.

    If a worker died, that says nothing of the destination, so they are attempted once more. A second one may have died
    of them.
    """
    try:
        left = destination.deliver(rows, turn)
    except Exception as error:
        if WORKER_DIED not in str(error) or not may_repeat:
            return Failure(reason_of(error))
        LOG.warning("batch %s: a worker died while it delivered to %s: once more", turn.batch, turn.name)
        return attempt(destination, rows, turn, may_repeat=False)
    return None if left is None else Failure("", left)


def undelivered(rows: DataFrame, failure: Failure, attempts: Column) -> DataFrame:
    """Those of the rows that were not delivered, as dead letters."""
    from pyspark.sql import functions as sf

    if failure.undelivered is None:
        return with_reason(rows, sf.lit(failure.reason), attempts)
    told = failure.undelivered.groupBy("delivery_id").agg(sf.min(REASON).alias(TOLD))
    return with_reason(rows.join(told, "delivery_id"), sf.col(TOLD), attempts).drop(TOLD).select(*rows.columns, DEAD)


def _outcomes(groups: list[Group], failures: dict[str, Failure], dead: dict[str, Counts]) -> dict[str, Outcome]:
    """What the breakers are told; nothing of what a destination got as the fallback of another."""
    sent: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for group in groups:
        if group.instead_of is not None:
            sent[group.instead_of] += 0
        elif group.waits:
            waiting[group.destination] += group.deliveries
            sent[group.destination] += 0
        else:
            sent[group.destination] += group.deliveries
    outcomes = {}
    for name, count in sent.items():
        failed = dead[name].own - waiting[name] if name in failures else 0
        outcomes[name] = Outcome(count - failed, failed)
    return outcomes
