"""The stage ``select``: which of the routes that match take a message, and where each of them sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pointsman.columns.stretches import COUNTED
from pointsman.errors import InputError
from pointsman.pipeline.balance_keys import BALANCE_KEY, with_balance_keys
from pointsman.pipeline.balancing.balance import Balanced, balance
from pointsman.pipeline.breaking import ask
from pointsman.pipeline.columns import MessageColumns, find, refuse_columns
from pointsman.pipeline.problem import PROBLEM
from pointsman.pipeline.route_codes import ASKED_BITS, BALANCED, CODE, DESTINATIONS, RANK_BITS, RouteCodes
from pointsman.table.compile import UNROUTED
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

HOLDING = "pointsman_holding"
ORDERED = ("bigint", "int", "smallint", "tinyint")
"""The types that ``position`` may have."""
COMPETITION = RANK_BITS + ASKED_BITS
ASKED = f"CAST(shiftright(code, {RANK_BITS}) & {(1 << ASKED_BITS) - 1} AS INT)"
FIRST = f"""(shiftright(code, {COMPETITION}) = 0 OR NOT exists(routes, other ->
    shiftright(other, {COMPETITION}) = shiftright(code, {COMPETITION})
    AND other & {(1 << RANK_BITS) - 1} < code & {(1 << RANK_BITS) - 1}))"""
"""Whether a route stands for itself, or is the first of its competition among those there.

Expressions of SQL, which Spark reads in a moment, while each call that puts one together in Python takes its time.
"""
NO_STATE = State()


class Selected(NamedTuple):
    """One row for each message, route and destination; a message that nobody gets has one row, with neither."""

    rows: DataFrame
    balanced: Balanced | None
    """What the state of the balanced routes after these messages is worked out from; None if there are none."""


def select(
    messages: DataFrame, table: RoutingTable, *, state: State = NO_STATE, now: float = 0.0, seed: int = 0
) -> Selected:
    """The deliveries of messages that have gone through ``resolve``, as ``RoutingTable.decide`` chooses them.

    ``state`` is that of balances and breakers before these messages, ``now`` the time for the breakers, ``seed`` the
    source of chance for balances of the kind random. Balanced routes and breakers need the column ``position``, the
    order of the messages. Raises ``InputError`` (``bad-usage``) if it is missing or no number, if messages have a
    column that is added here, and for a stream with balanced routes that count: those need a batch.
    """
    codes = RouteCodes.of(table)
    refuse_columns(messages, "route", "strategy", "destination")
    rows = explode_routes(choose_routes(messages, codes), codes)
    if table.unrouted is not None:
        rows = _with_unrouted(rows, table.unrouted)
    balanced = None
    balances = any(route.balance is not None for route in codes.routes)
    guards = any(destination.breaker is not None for destination in table.destinations.values())
    if balances or guards:
        _check_order(messages, codes)
    if balances:
        balanced = balance(with_balance_keys(rows, table), table, state, seed=seed)
        rows = balanced.deliveries.drop(BALANCE_KEY)
    if guards:
        refuse_columns(messages, "instead_of", "probe", "waits")
        rows = ask(rows, table, state, now)
    return Selected(rows, balanced)


def choose_routes(messages: DataFrame, codes: RouteCodes) -> DataFrame:
    """The messages with only those in ``routes`` that take them: what they ask holds, and none of a group is before.

    Works on the arrays, in the JVM; what a predicate needs of Python is worked out for all of them in one crossing.
    """
    from pyspark.sql import functions as sf

    from pointsman.pipeline.predicates import holding_column

    frame = messages
    if codes.asked:
        pairs = [(each.condition, each.predicate) for each in codes.asked]
        numbers = sf.expr(f"transform(routes, code -> {ASKED})")
        frame = frame.withColumn(HOLDING, holding_column(pairs, MessageColumns(frame), numbers))
        holds = f"filter(routes, code -> {ASKED} = 0 OR array_contains({HOLDING}, {ASKED}))"
        frame = frame.withColumn("routes", sf.expr(holds)).drop(HOLDING)
    if any(code >> COMPETITION for code in codes.codes):
        frame = frame.withColumn("routes", sf.expr(f"filter(routes, code -> {FIRST})"))
    return frame


def explode_routes(messages: DataFrame, codes: RouteCodes) -> DataFrame:
    """One row for each route that takes a message and each of its destinations, which balanced routes have none of yet.

    A message that no route takes keeps one row.
    """
    from pyspark.sql import functions as sf

    exploded = messages.withColumn(CODE, sf.explode_outer("routes")).drop("routes")
    joined = exploded.join(sf.broadcast(codes.frame(messages.sparkSession)), CODE, "left")
    sent = sf.when(~joined[BALANCED], joined[DESTINATIONS])
    return joined.withColumn("destination", sf.explode_outer(sent)).drop(CODE, DESTINATIONS, BALANCED)


def _with_unrouted(rows: DataFrame, destination: str) -> DataFrame:
    """The rows in which a message that no route takes goes to this destination."""
    from pyspark.sql import functions as sf

    untaken = rows["route"].isNull()
    if find(rows, PROBLEM) is not None:
        untaken = untaken & rows[PROBLEM].isNull()
    given = {"route": UNROUTED, "strategy": UNROUTED, "destination": destination}
    return rows.withColumns({name: sf.when(untaken, sf.lit(to)).otherwise(rows[name]) for name, to in given.items()})


def _check_order(messages: DataFrame, codes: RouteCodes) -> None:
    """Raises ``InputError`` if balanced routes and breakers cannot go by the order of these messages."""
    name = find(messages, "position")
    if name is None:
        raise InputError("bad-usage", "messages have no column 'position', which balanced routes and breakers go by")
    kind = messages.schema[name].dataType.simpleString()
    if kind not in ORDERED:
        raise InputError("bad-usage", f"the column {name!r} of messages is {kind}, not {' or '.join(ORDERED)}")
    counting = [route.name for route in codes.routes if route.balance in COUNTED]
    if messages.isStreaming and counting:
        problem = f"{counting[0]!r} counts its messages, which a stream cannot do as a whole: route each of its batches"
        raise InputError("bad-usage", f"{problem} in foreachBatch")
