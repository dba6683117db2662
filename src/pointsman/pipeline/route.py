"""The stages of the routing table one after the other: from messages to deliveries, and to what cannot be delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pointsman.errors import MissingExtraError
from pointsman.pipeline.authorize import authorize
from pointsman.pipeline.balancing.balance import Balanced
from pointsman.pipeline.columns import MessageColumns, find, refuse_columns
from pointsman.pipeline.problem import PROBLEM, with_problems
from pointsman.pipeline.resolve_routes import resolve_routes
from pointsman.pipeline.route_codes import RouteCodes
from pointsman.pipeline.select import NO_STATE, ORDERED, select
from pointsman.pipeline.translate import translate
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OUTCOME = "outcome"
DELIVERED, QUARANTINED, UNROUTED = "delivered", "quarantined", "unrouted"
OF_DELIVERIES = ("strategy", "destination", "instead_of", "probe", "waits", "delivery_id")
"""Columns that only deliveries have something in."""


class Routed(NamedTuple):
    """What became of messages: every message has at least one row, with its ``outcome``."""

    rows: DataFrame
    balanced: Balanced | None = None

    @property
    def deliveries(self) -> DataFrame:
        """One row for each message, route and destination, with ``delivery_id``."""
        return self._of(DELIVERED).drop(PROBLEM)

    @property
    def quarantine(self) -> DataFrame:
        """The messages that something is wrong with, and what: the stage, a code and the reason.

        ``route`` names the route that could not choose a destination; it is NULL where the message itself is wrong.
        """
        return self._of(QUARANTINED).drop(*OF_DELIVERIES)

    @property
    def unrouted(self) -> DataFrame:
        """The messages that no route takes."""
        return self._of(UNROUTED).drop(PROBLEM, "route", *OF_DELIVERIES)

    def _of(self, outcome: str) -> DataFrame:
        return self.rows.filter(self.rows[OUTCOME] == outcome).drop(OUTCOME)


def route(
    messages: DataFrame,
    table: RoutingTable,
    *,
    principal: str | None = None,
    state: State = NO_STATE,
    now: float = 0.0,
    seed: int = 0,
) -> Routed:
    """Decides about every message as ``RoutingTable.decide`` does.

    The messages need the column ``subject``; ``id``, ``metadata``, ``body``, ``time``, ``source``, ``correlation_id``,
    ``causation_id``, ``content_type`` and ``principal`` are used where they are, and all others pass through.
    ``position`` is the order of the messages, for balanced routes; where it is not there, it is that of the rows.
    ``state``, ``now`` and ``seed`` are as for ``select``. Sagas and answers are not followed here.

    Nothing is computed here, so it may be a stream, if no balanced route counts: those need a batch.
    """
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    found = to_routes(messages, table, principal=principal, seed=seed)
    selected = select(found, table, state=state, now=now, seed=seed)
    return Routed(with_outcome(selected.rows), selected.balanced)


def to_routes(messages: DataFrame, table: RoutingTable, *, principal: str | None, seed: int) -> DataFrame:
    """The stages of ``route`` up to ``resolve``: the messages with ``routes`` and ``problem``."""
    received = with_positions(with_ids(with_problems(messages), seed), table)
    allowed = authorize(received, table, principal=principal)
    return resolve_routes(translate(allowed, table), table, RouteCodes.of(table))


def with_positions(messages: DataFrame, table: RoutingTable) -> DataFrame:
    """The messages with ``position``, if the table has routes that need an order; made where it is missing or NULL.

    It is the place of the row; in a stream, where nothing goes by the order, a number that follows from the id.
    """
    from pyspark.sql import functions as sf

    needed = any(route.balance is not None for route in table.routes) or any(
        destination.breaker is not None for destination in table.destinations.values()
    )
    given = find(messages, "position")
    if not needed or (given is not None and messages.schema[given].dataType.simpleString() not in ORDERED):
        return messages
    place = sf.xxhash64(MessageColumns(messages).id) if messages.isStreaming else sf.monotonically_increasing_id()
    return messages.withColumn(given or "position", place if given is None else sf.coalesce(given, place))


def with_ids(messages: DataFrame, seed: int = 0) -> DataFrame:
    """The messages with an id each; one is made where it is missing, NULL or empty.

    It follows from what the row holds, from the number of the batch, ``seed``, and from the place of the row, so that a
    batch that is repeated has the same ones. In a stream there are no places: there it is random.
    """
    from pyspark.sql import functions as sf

    columns = MessageColumns(messages)
    if messages.isStreaming:
        made = sf.uuid()
    else:
        content = sf.lower(sf.hex(sf.xxhash64(columns.subject, columns.body)))
        made = sf.concat_ws("-", content, sf.lit(seed), sf.monotonically_increasing_id())
    name = columns.name("id") or "id"
    return messages.withColumn(name, sf.coalesce(sf.nullif(columns.id, sf.lit("")), made))


def with_outcome(rows: DataFrame) -> DataFrame:
    """The rows with ``outcome`` and ``delivery_id``."""
    from pyspark.sql import functions as sf

    refuse_columns(rows, OUTCOME, "delivery_id")
    outcome: Column = (
        sf.when(rows[PROBLEM].isNotNull(), QUARANTINED)
        .when(rows["destination"].isNull(), UNROUTED)
        .otherwise(DELIVERED)
    )
    columns = MessageColumns(rows)
    delivery = sf.when(outcome == DELIVERED, sf.concat_ws("/", columns.id, rows["route"], rows["destination"]))
    return rows.withColumn(OUTCOME, outcome).withColumn("delivery_id", delivery)
