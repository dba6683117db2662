"""The stage ``resolve``: from messages to the subscriptions that want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pointsman.errors import InputError
from pointsman.pipeline.columns import PROBLEM, find, is_fine, refuse_columns
from pointsman.pipeline.spark.kind import refuse_connect_stream
from pointsman.pipeline.stages import resolve_routes
from pointsman.pipeline.subscriptions.compiled import CompiledSubscriptions, compile_subscriptions
from pointsman.pipeline.subscriptions.frame import ID
from pointsman.pipeline.subscriptions.search import PAGE, SHARD, Search
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST_IN_A_PAGE = 1 << 20
"""Subscriptions of one message in a page, by default. Smaller tables have one page."""


def resolve(
    messages: DataFrame, to: DataFrame | CompiledSubscriptions | RoutingTable, dialect: str | None = None, **how: Any
) -> DataFrame:
    """Adds to each message whom it reaches: the subscriptions of a DataFrame, or the routes of a table.

    - A routing table: see ``resolve_routes``. Returns the messages with ``routes`` and ``problem``.
    - ``CompiledSubscriptions``: see ``resolve_subscriptions``.
    - A DataFrame of subscriptions: it is compiled by ``compile_subscriptions`` first. ``how`` has further arguments for
      both. A stream keeps using the subscriptions as they are now.
    """
    if isinstance(to, RoutingTable):
        return resolve_routes(messages, to)
    if isinstance(to, CompiledSubscriptions):
        return resolve_subscriptions(messages, to, **how)
    own = {name: how.pop(name) for name in ("page", "now") if name in how}
    return resolve_subscriptions(messages, compile_subscriptions(to, dialect, **how), **own)


def resolve_subscriptions(
    messages: DataFrame,
    subscriptions: CompiledSubscriptions,
    *,
    page: int = MOST_IN_A_PAGE,
    now: float | None = None,
) -> DataFrame:
    """One row for each message and each subscription that it reaches: the message's columns and ``subscription_id``.

    ``messages`` needs ``subject``; ``metadata`` is optional. A message whose subject is NULL or invalid reaches only
    subscriptions without a pattern; one with a ``problem`` reaches nobody. ``page`` is how many subscriptions of one
    message are handled at a time. ``now`` (seconds since 1970) decides which subscriptions have expired; the default
    is Spark's ``current_timestamp``, which a stream takes once for each micro-batch and keeps when it repeats one.

    Raises ``InputError``: ``bad-usage`` for unusable columns and a page below 1, ``classic-session-needed`` for a
    stream on Spark Connect.
    """
    from pyspark.sql import functions as sf

    if page < 1:
        raise InputError("bad-usage", f"a page holds at least one subscription, not {page}")
    refuse_columns(messages, ID)
    refuse_connect_stream(messages, "resolve")
    wanted = sf.lit(True) if find(messages, PROBLEM) is None else is_fine(messages)
    moment = sf.unix_micros(sf.current_timestamp()) / sf.lit(1e6) if now is None else sf.lit(float(now))
    search = Search(subscriptions, page)
    rows = search.rows(messages, wanted)
    found = search.column(rows, wanted, moment, subscriptions.list_type())
    return rows.select("*", sf.explode(found).alias(ID)).drop(PAGE, SHARD)
