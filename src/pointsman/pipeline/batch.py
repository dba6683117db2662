"""One micro-batch: its messages are routed and written in one job, and what the next one has to know is recorded."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman.columns.balance import moved, settled
from pointsman.pipeline.bad_files import BadFiles
from pointsman.pipeline.columns import PROBLEM
from pointsman.pipeline.config import PipelineFile, destinations_of, out_of
from pointsman.pipeline.counts import Counted, Totals, counted, observe
from pointsman.pipeline.destinations.choice import names_of
from pointsman.pipeline.destinations.deliverer import Deliverer, Slices, Written
from pointsman.pipeline.stages import QUARANTINED, Coded, code, code_lines
from pointsman.pipeline.state import batches
from pointsman.pipeline.state.breakers import report
from pointsman.pipeline.subscriptions.owners import with_owners
from pointsman.pipeline.subscriptions.versions import SubscriptionVersions
from pointsman.pipeline.versions import Tables, Tell
from pointsman.subscriptions.output_adapter import ROUTE
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from pointsman.table.tools.messages_file import NO_NAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Begun(NamedTuple):
    """What a batch works with."""

    number: int
    table: RoutingTable
    state: State
    now: float


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
        subscribed: SubscriptionVersions | None = None,
        bad_files: BadFiles | None = None,
    ) -> None:
        self._tables = tables
        self._checkpoint = checkpoint
        written = pipeline.written
        self._principal = None if following else written.principal
        self._keys: Mapping[str, str] = {column: field for field, column in written.source.columns.items()} or NO_NAMES
        destinations = destinations_of(pipeline, following=following)
        out = out_of(pipeline, following=following)
        self._deliverer = Deliverer(destinations, out, identity, written.format, following=following)
        self._tell = tell
        self._clock = clock
        self._subscribed = subscribed
        self._bad_files = bad_files
        self._event = "commands" if following else "batch"
        self.totals = Totals()

    def __call__(self, messages: DataFrame, batch: int) -> None:
        """Routes and delivers one batch; one that is repeated decides the same as before.

        The messages are rows of messages, or lines of JSON in the column ``line``.
        """
        versions = self.begin(batch)
        now: Any = versions["now"]
        table = self._tables.of(str(versions["table"]))
        begun = Begun(batch, table, batches.load(self._checkpoint, batch), float(now))
        if self._subscribed is not None:
            versions |= {"subscriptions": self._subscribed.of_batch(batch).version}
        slices, count = self._write(messages, begun)
        groups = self._groups(slices, count)
        written = self._deliverer.deliver(slices, table, batch, groups)
        totals = self._totals(begun, slices, count, written)
        self._deliverer.tidy(slices, table, groups)
        batches.record(self._checkpoint, batch, self._after(begun, count, written), versions)
        self._add(totals, written, batch)

    def begin(self, batch: int) -> dict[str, object]:
        """The versions and the time that a batch works with; they are recorded before this returns."""
        versions = {"table": self._tables.current().hash, "now": self._clock()}
        return batches.begin(self._checkpoint, batch, versions)

    def _write(self, messages: DataFrame, begun: Begun) -> tuple[Slices, Counted]:
        """Decides about the messages and writes what becomes of them, which counts it: one job."""
        coded, rows = self._decide(messages, begun)
        destinations = [] if self._subscribed is None else sorted(names_of(begun.table))
        observed, observation = observe(coded, rows, destinations)
        slices = self._deliverer.write(coded._replace(rows=observed).named(), begun.number)
        return slices, counted(observation, coded, destinations)

    def _decide(self, messages: DataFrame, begun: Begun) -> tuple[Coded, DataFrame]:
        how: dict[str, Any] = {
            "principal": self._principal,
            "state": begun.state,
            "now": begun.now,
            "seed": begun.number,
            "subscribed": self._subscribed is not None,
        }
        if messages.columns == ["line"]:
            coded = code_lines(messages, begun.table, self._keys, **how)
        else:
            coded = code(messages, begun.table, **how)
        rows = coded.rows
        if self._subscribed is not None:
            rows = with_owners(coded, self._subscribed.of_batch(begun.number), begun.table, begun.now)
        return coded, rows if self._bad_files is None else self._bad_files.with_rows(rows, begun.number)

    @staticmethod
    def _groups(slices: Slices, count: Counted) -> list[Any]:
        return count.groups + (slices.groups_beside(count.destinations) if count.elsewhere else [])

    @staticmethod
    def _after(begun: Begun, count: Counted, written: Written) -> State:
        """The state for the next batch: with the end of this one, no delivery of it is in flight any more."""
        state = settled(begun.table, moved(begun.table, begun.state, count.taken), count.chosen)
        return report(begun.table, state, written.outcomes, asked=begun.now, now=begun.now)

    @staticmethod
    def _totals(begun: Begun, slices: Slices, count: Counted, written: Written) -> Totals:
        """What came of the batch; what is wrong with messages, if anything is, is read from what was written."""
        totals = Totals(1, count.messages, count.deliveries, count.stuck, count.unrouted, table=begun.table.hash)
        for name, dead in written.dead.items():
            totals.failed[name] += dead.letters
            for route, letters in dead.by_route.items():
                key = (ROUTE if route.startswith(ROUTE) else route, name)
                totals.deliveries[key] -= letters
        totals.deliveries = +totals.deliveries
        if count.wrong:
            rows = slices.of(QUARANTINED)
            # In one part, for which nothing is shuffled: one job.
            wrong = rows.where(rows["route"].isNull()).coalesce(1)
            whole = wrong.groupBy(f"{PROBLEM}.stage", f"{PROBLEM}.code").count()
            totals.quarantined += Counter({(row["stage"], row["code"]): row["count"] for row in whole.collect()})
        return totals

    def _add(self, totals: Totals, written: Written, batch: int) -> None:
        self.totals.add(totals)
        for name, dead in written.dead.items():
            self._tell("destination-failed", batch=batch, destination=name, dead=dead.letters, reason=dead.reason)
        self._tell(self._event, batch=batch, **totals.as_dict(), totals=self.totals.as_dict())
