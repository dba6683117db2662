"""One micro-batch: its messages are routed and delivered, and what the next one has to know is recorded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.columns.turns import settled
from pointsman.pipeline import batch_state
from pointsman.pipeline.breaking import Outcome, report
from pointsman.pipeline.delivering.deliverer import Deliverer, Group, Written
from pointsman.pipeline.delivering.saving import save
from pointsman.pipeline.problem import PROBLEM
from pointsman.pipeline.running.bad_files import BadFiles
from pointsman.pipeline.running.places import out_of, places_of
from pointsman.pipeline.running.settings import PipelineFile
from pointsman.pipeline.running.subscribed import Subscribed, by_routes
from pointsman.pipeline.running.versions import Tables, Tell
from pointsman.pipeline.stages import DELIVERED, OUTCOME, QUARANTINED, UNROUTED, Routed, route
from pointsman.pipeline.subscription_flow import ADDED
from pointsman.subscriptions.output_adapter import ROUTE
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(slots=True)
class Totals:
    """What came of all batches so far."""

    batches: int = 0
    messages: int = 0
    deliveries: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By route and destination."""
    quarantined: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By stage and code."""
    unrouted: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    """Deliveries that became dead letters, by destination."""
    table: str = ""
    commands: Totals | None = None
    """What came of the commands of sagas, which are routed too; None if the table has no sagas."""

    @property
    def dead(self) -> int:
        """How many dead letters there are, of messages and of commands."""
        return self.failed.total() + (0 if self.commands is None else self.commands.dead)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "batches": self.batches,
            "messages": self.messages,
            "deliveries": {f"{route} -> {name}": count for (route, name), count in sorted(self.deliveries.items())},
            "quarantined": {f"{stage}: {code}": count for (stage, code), count in sorted(self.quarantined.items())},
            "unrouted": self.unrouted,
            "dead": dict(sorted(self.failed.items())),
            "table": self.table,
            **({} if self.commands is None else {"commands": self.commands.as_dict()}),
        }


class BatchRunner:
    """Runs batches, one after the other, for ``foreachBatch``.

    ``identity`` tells its batches from those of another run or query that have the same numbers; queues go by it.
    ``following`` says that the messages are the commands of sagas: what becomes of them is in a folder of its own, and
    they are trusted, as what a saga sends is in any runtime.
    """

    def __init__(
        self,
        pipeline: PipelineFile,
        tables: Tables,
        checkpoint: Path,
        identity: str,
        tell: Tell,
        clock: Callable[[], float] = time.time,
        *,
        following: bool = False,
        subscribed: Subscribed | None = None,
        bad_files: BadFiles | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._tables = tables
        self._checkpoint = checkpoint
        self._principal = None if following else pipeline.written.principal
        self._out = out_of(pipeline, following=following)
        places = places_of(pipeline, following=following)
        self._deliverer = Deliverer(places, self._out, identity, following=following)
        self._tell = tell
        self._clock = clock
        self._subscribed = subscribed
        self._bad_files = bad_files
        self._event = "commands" if following else "batch"
        self.totals = Totals()

    def __call__(self, messages: DataFrame, batch: int) -> None:
        """Routes and delivers one batch; one that is repeated decides the same as before."""
        from pyspark.sql import Observation
        from pyspark.sql import functions as sf

        begun = self.begin(batch)
        now: Any = begun["now"]
        table = self._tables.of(str(begun["table"]))
        state = batch_state.load(self._checkpoint, batch)
        read = Observation()
        observed = messages.observe(read, sf.count(sf.lit(1)).alias("messages"))
        if self._bad_files is not None:
            observed = self._bad_files.with_rows(observed, batch)
        routed = route(observed, table, principal=self._principal, state=state, now=float(now), seed=batch)
        rows = routed.rows
        if self._subscribed is not None:
            begun |= {"subscriptions": self._subscribed.version(batch)}
            add = self._subscribed.add
            rows = add(rows, messages, table, batch, principal=self._principal, now=float(now))
        rows = rows.persist()
        try:
            counted = _count(rows)
            written = self._write(routed._replace(rows=rows), table, batch, counted)
            own = rows if self._subscribed is None else by_routes(rows)
            after = self._after(routed._replace(rows=own), table, state, counted, written.outcomes, float(now))
            batch_state.record(self._checkpoint, batch, after, begun)
        finally:
            rows.unpersist()
        self.totals.messages += int(read.get["messages"])
        self._add(counted, written, table, batch)

    def begin(self, batch: int) -> dict[str, object]:
        """The versions and the time that a batch works with; they are recorded before this returns."""
        versions = {"table": self._tables.current().hash, "now": self._clock()}
        return batch_state.begin(self._checkpoint, batch, versions)

    def _write(self, routed: Routed, table: RoutingTable, batch: int, counted: list[Any]) -> Written:
        groups = [
            Group(row["destination"], row["instead_of"], row["waits"], row["count"])
            for row in counted
            if row[OUTCOME] == DELIVERED
        ]
        written = self._deliverer.deliver(routed.deliveries, table, batch, groups)
        for name, frame in ((QUARANTINED, routed.quarantine), (UNROUTED, routed.unrouted)):
            if any(row[OUTCOME] == name for row in counted):
                shown = frame.drop("probe", "waits", "instead_of", *(() if self._subscribed is None else ADDED))
                save(shown, self._pipeline.written.format, {}, f"{self._out}/{name}/batch={batch}")
        return written

    @staticmethod
    def _after(
        routed: Routed,
        table: RoutingTable,
        state: State,
        counted: list[Any],
        outcomes: dict[str, Outcome],
        now: float,
    ) -> State:
        """The state for the next batch: with the end of this one, no delivery of it is in flight any more."""
        if any(route.balance is not None for route in table.routes):
            state = routed.state()
            finished: Counter[tuple[str, str]] = Counter()
            for row in counted:
                if row[OUTCOME] == DELIVERED:
                    finished[row["route"], row["instead_of"] or row["destination"]] += row["count"]
            state = settled(table, state, finished)
        return report(table, state, outcomes, asked=now, now=now)

    def _add(self, counted: list[Any], written: Written, table: RoutingTable, batch: int) -> None:
        totals = self.totals
        totals.batches += 1
        totals.table = table.hash
        for row in counted:
            if row[OUTCOME] == DELIVERED:
                totals.deliveries[row["route"], row["destination"]] += row["count"]
            elif row[OUTCOME] == QUARANTINED:
                totals.quarantined[row["stage"], row["code"]] += row["count"]
            else:
                totals.unrouted += row["count"]
        for name, buried in written.dead.items():
            totals.failed[name] += buried.letters
            self._tell("destination-failed", batch=batch, destination=name, dead=buried.letters, reason=buried.reason)
        self._tell(self._event, batch=batch, **totals.as_dict())


def _shown_route(rows: DataFrame) -> Column:
    """The route; deliveries of subscriptions are counted together, as there may be very many owners."""
    from pyspark.sql import functions as sf

    if ADDED[0] not in rows.columns:
        return rows["route"]
    return sf.when(rows[ADDED[0]].isNull(), rows["route"]).otherwise(ROUTE)


def _count(rows: DataFrame) -> list[Any]:
    """How many rows there are of each kind: one job, which also works out the rows."""
    from pyspark.sql import functions as sf

    waits = rows["waits"] if "waits" in rows.columns else sf.lit(False)
    instead_of = rows["instead_of"] if "instead_of" in rows.columns else sf.lit(None).cast("string")
    keys = [
        rows[OUTCOME],
        _shown_route(rows).alias("route"),
        rows["destination"],
        rows[PROBLEM]["stage"].alias("stage"),
        rows[PROBLEM]["code"].alias("code"),
        waits.alias("waits"),
        instead_of.alias("instead_of"),
    ]
    return rows.groupBy(*keys).count().collect()
