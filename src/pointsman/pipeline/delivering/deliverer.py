"""The deliveries of batches, each destination for itself.

Whatever is written carries the number of the batch, and a batch that is repeated after a crash changes nothing. A
destination that fails keeps nobody from the others; its deliveries become dead letters with the reason.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from pointsman.pipeline.breaking import WAITING, Outcome
from pointsman.pipeline.columns import refuse_columns
from pointsman.pipeline.delivering.choosing import Places, names_of
from pointsman.pipeline.delivering.dead import DEAD, Buried, Graveyard, with_reason
from pointsman.pipeline.delivering.folder import OwnFolder
from pointsman.pipeline.delivering.http import Http
from pointsman.pipeline.delivering.place import REASON, Place, Turn, reason_of
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

LOG = logging.getLogger("pointsman.pipeline")
TOLD = "pointsman_told"
WORKER_DIED = "Python worker exited unexpectedly"
"""How Spark says it, in all its exceptions."""


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
    dead: dict[str, Buried]
    """The dead letters, by the destination that they went to."""
    failures: dict[str, Failure]


class Deliverer:
    """Makes the deliveries of the batches of one query."""

    def __init__(self, places: Places, out: str, query: str, *, following: bool = False) -> None:
        self._places = places
        self._query = query
        self._following = following
        self._graveyard = Graveyard(out)

    def deliver(self, deliveries: DataFrame, table: RoutingTable, batch: int, groups: Iterable[Group]) -> Written:
        """Makes deliveries, of which there are so many of each group. What fails is told, not raised.

        Those that wait, because a breaker is open and there is no fallback, become dead letters at once. Raises if the
        dead letters cannot be written.
        """
        refuse_columns(deliveries, DEAD)
        groups = list(groups)
        waiting = {group.destination for group in groups if group.waits}
        sent = deliveries.where("NOT waits") if "waits" in deliveries.columns else deliveries
        names = sorted({group.destination for group in groups if not group.waits})
        failures = self._make(sent.drop("probe", "waits"), table, batch, names)
        dead = {}
        for name in sorted({*failures, *waiting}):
            letters = self._letters(deliveries, name, failures.get(name), waits=name in waiting)
            dead[name] = self._graveyard.bury(letters, name, batch)
        self._graveyard.clear(deliveries.sparkSession, batch, set(dead))
        return Written(_outcomes(groups, failures, dead), dead, failures)

    def _make(self, rows: DataFrame, table: RoutingTable, batch: int, names: list[str]) -> dict[str, Failure]:
        places: dict[str, Place] = {}
        failures: dict[str, Failure] = {}
        known = names_of(table)
        for name in names:
            if name not in known:
                # A subscription may ask for one that the table had before.
                failures[name] = Failure(f"the table has no destination {name!r}")
                continue
            try:
                places[name] = self._places.of(name, table)
            except Exception as error:
                failures[name] = Failure(reason_of(error))
        own = [name for name, place in places.items() if isinstance(place, OwnFolder)]
        if own and self._made_together(rows, own, batch):
            places = {name: place for name, place in places.items() if name not in own}
        # An endpoint may be slow; nobody waits for it but others of its kind.
        for name, place in sorted(places.items(), key=lambda each: isinstance(each[1], Http)):
            turn = Turn(name, batch, self._query, self._following)
            failure = attempt(place, rows.where(rows["destination"] == name), turn)
            if failure is not None:
                failures[name] = failure
        return failures

    def _made_together(self, rows: DataFrame, names: list[str], batch: int) -> bool:
        """Writes all that go to the folder of the pipeline in one job; if that fails, one by one shows whose fault."""
        try:
            self._places.own.deliver_together(rows.where(rows["destination"].isin(names)), batch)
        except Exception as error:
            LOG.warning("batch %s: the deliveries could not be written together: %s", batch, reason_of(error))
            return False
        return True

    @staticmethod
    def _letters(deliveries: DataFrame, name: str, failure: Failure | None, *, waits: bool) -> DataFrame:
        from pyspark.sql import functions as sf

        rows = deliveries.where(deliveries["destination"] == name)
        kept = rows.drop("probe", "waits")
        nothing = with_reason(kept.where(sf.lit(False)), sf.lit(""), sf.lit(0))
        waiting = (
            with_reason(rows.where("waits").drop("probe", "waits"), sf.lit(WAITING), sf.lit(0)) if waits else nothing
        )
        if failure is None:
            return waiting
        tried = rows.where("NOT waits").drop("probe", "waits") if "waits" in rows.columns else kept
        return undelivered(tried, failure, sf.lit(1)).unionByName(waiting)


def attempt(place: Place, rows: DataFrame, turn: Turn, *, may_repeat: bool = True) -> Failure | None:
    """Makes the deliveries of one destination; what was not made, and why.

    A worker that died says nothing of the destination, so they are attempted once more; a second one may have died of
    them.
    """
    try:
        left = place.deliver(rows, turn)
    except Exception as error:
        if not (worker_died(error) and may_repeat):
            return Failure(reason_of(error))
        LOG.warning("batch %s: a worker died while it delivered to %s: once more", turn.batch, turn.name)
        return attempt(place, rows, turn, may_repeat=False)
    return None if left is None else Failure("", left)


def worker_died(error: Exception) -> bool:
    """Whether Spark failed because a process that worked for it is gone."""
    return WORKER_DIED in str(error)


def undelivered(rows: DataFrame, failure: Failure, attempts: Column) -> DataFrame:
    """Those of the rows that were not delivered, as dead letters."""
    from pyspark.sql import functions as sf

    if failure.undelivered is None:
        return with_reason(rows, sf.lit(failure.reason), attempts)
    told = failure.undelivered.groupBy("delivery_id").agg(sf.min(REASON).alias(TOLD))
    return with_reason(rows.join(told, "delivery_id"), sf.col(TOLD), attempts).drop(TOLD).select(*rows.columns, DEAD)


def _outcomes(groups: list[Group], failures: dict[str, Failure], dead: dict[str, Buried]) -> dict[str, Outcome]:
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
