"""Sagas on a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.pipeline.stateful.follow import BUCKETS, TimeMode, follow
from pointsman.pipeline.stateful.rows import GATHERING_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pointsman.table.routing_table import RoutingTable


def follow_sagas(
    events: DataFrame, table: RoutingTable, *, buckets: int = BUCKETS, time_mode: TimeMode = "processingTime"
) -> DataFrame:
    """A row for each command that the sagas of the table send, and one for each event or timeout that concerns one.

    The rows of ``kind`` ``command`` are messages; the broker gives those that follow from an event the same ids. The
    rows of ``kind`` ``move`` say what an event did to a saga: ``outcome`` is ``moved``, ``completed``, ``compensated``
    (it has ended, and something was compensated on its way), ``ignored`` or ``problem``, the last two with a
    ``reason``; ``path`` names the states that were entered.

    The arguments, what is promised and what is raised are those of ``follow``.
    """
    made = follow(events, table, buckets=buckets, time_mode=time_mode, gatherings=False)
    return made.drop(*GATHERING_COLUMNS)
