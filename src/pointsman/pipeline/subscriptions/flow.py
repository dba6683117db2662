"""The flow of wildcard subscriptions alone, without a pipeline around it, one micro-batch after the other.

    source ─▶ input adapter ─▶ resolver ─▶ output adapter ─▶ destinations
                                  │ ▲
                        matchers, subscriptions     pages of them, on the workers

``input_adapter`` reads the messages, ``with_owners`` resolves them to groups of owner and destination, and ``deliver``
brings these to their destinations.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointsman.pipeline.columns import refuse_columns
from pointsman.pipeline.crossing import part_of
from pointsman.pipeline.deliver import deliver
from pointsman.pipeline.destinations.folder import save
from pointsman.pipeline.formats import stream_messages
from pointsman.pipeline.stages import NO_STATE, OF_SUBSCRIPTIONS, Routed, code
from pointsman.pipeline.subscriptions.owners import MOST_IN_A_PAGE, with_owners
from pointsman.pipeline.subscriptions.versions import SubscriptionVersions
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def input_adapter(spark: SparkSession, source: str | Path, form: str = "json", **options: Any) -> DataFrame:
    """A stream of the messages in files, those that come later included. Invalid messages have a ``problem``.

    Raises as ``stream_messages``.
    """
    return stream_messages(spark, str(source), form, options)


class SubscriptionFlow:
    """The flow from messages to destinations, for ``foreachBatch``: each batch with the version that it began with."""

    def __init__(
        self,
        versions: SubscriptionVersions,
        table: RoutingTable,
        out: str | Path,
        *,
        page: int = MOST_IN_A_PAGE,
        sinks: Mapping[str, Any] | None = None,
        query: str = "subscriptions",
    ) -> None:
        """``versions`` are of subscriptions ``with_destinations``; ``table`` has the destinations and the access rules.

        ``page`` is how many owners and destinations of one message are handled at a time; the rest is as for
        ``deliver``.
        """
        self._versions = versions
        self._table = table
        self._out = out
        self._page = page
        self._sinks = sinks
        self._query = query

    def __call__(self, messages: DataFrame, batch: int) -> None:
        """Resolves and delivers one batch; a repeated batch replaces what it wrote before.

        Messages with a ``problem`` reach nobody, and are written to ``quarantined`` under the folder.
        """
        found = self.resolve(messages, batch)
        wrong = found.quarantine
        if not wrong.isEmpty():
            save(wrong, "json", {}, f"{self._out}/quarantined/batch={batch}")
        deliver(found.deliveries, self._table, self._out, sinks=self._sinks, batch=batch, query=self._query)

    def resolve(self, messages: DataFrame, batch: int) -> Routed:
        """What becomes of the messages of a batch, as ``route`` returns it for a table without routes."""
        refuse_columns(messages, *OF_SUBSCRIPTIONS)
        subscriptions, now = self._versions.begin(batch)
        coded = code(messages, part_of(self._table, "version"), seed=batch, subscribed=True)
        rows = with_owners(coded, subscriptions, self._table, now, self._page)
        return Routed(coded._replace(rows=rows).named(), self._table, NO_STATE)
