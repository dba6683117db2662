"""Gatherings on a stream: the answers to scattered requests, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pointsman.pipeline.stateful.follow import BUCKETS, TimeMode, follow
from pointsman.pipeline.stateful.rows import SAGA_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pointsman.table.routing_table import RoutingTable


def gather(
    messages: DataFrame, table: RoutingTable, *, buckets: int = BUCKETS, time_mode: TimeMode = "processingTime"
) -> DataFrame:
    """A row for each result of the scatter-gather routes of the table, and one for each request and each answer.

    The messages are requests and answers. A request that a route takes begins a gathering of its destinations; sending
    it to them is the stage ``deliver``. The rows of ``kind`` ``result`` are messages to the ``reply-to`` of the request
    (``subject`` is NULL if it named none), with the body that the broker gives a result; ``outcome`` says why it is
    complete: ``all``, ``quorum`` or ``timeout``. Those of ``kind`` ``request`` are ``asked``, or ``duplicate`` when the
    same request has come before. Those of ``kind`` ``answer`` are ``taken``, or dropped: ``late``, ``duplicate``,
    ``foreign``, or ``problem`` with a ``reason``.

    The arguments, what is promised and what is raised are those of ``follow``.
    """
    made = follow(messages, table, buckets=buckets, time_mode=time_mode, sagas=False)
    return made.drop(*SAGA_COLUMNS)
