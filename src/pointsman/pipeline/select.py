"""The stage ``select``: which of the routes that match take a message, and where each of them sends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pointsman.pipeline.balance_keys import with_balance_keys
from pointsman.pipeline.balancing.balance import Balanced, balance
from pointsman.pipeline.breaking import ask
from pointsman.pipeline.columns import MessageColumns
from pointsman.pipeline.route_codes import ASKED_BITS, RANK_BITS, RouteCodes
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HOLDING = "pointsman_holding"
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
    source of chance for balances of the kind random. Balanced routes need the column ``position``, the order of the
    messages.
    """
    codes = RouteCodes.of(table)
    rows = explode_routes(choose_routes(messages, codes), codes)
    balanced = None
    if any(route.balance is not None for route in codes.routes):
        balanced = balance(with_balance_keys(rows, table), table, state, seed=seed)
        rows = balanced.deliveries
    if any(destination.breaker is not None for destination in table.destinations.values()):
        rows = ask(rows, table, state, now)
    return Selected(rows.drop("balance_key", "balance", "gathers", "place"), balanced)


def choose_routes(messages: DataFrame, codes: RouteCodes) -> DataFrame:
    """The messages with only those in ``routes`` that take them: what they ask holds, and none of a group is before.

    Works on the arrays, in the JVM; what a predicate needs of Python is worked out for all of them in one crossing.
    """
    from pyspark.sql import functions as sf

    from pointsman.pipeline.predicates import holding_column

    frame = messages
    if codes.asked:
        pairs = [(each.condition, each.predicate) for each in codes.asked]
        numbers = sf.transform(frame["routes"], _asked)
        frame = frame.withColumn(HOLDING, holding_column(pairs, MessageColumns(frame), numbers))
        holding = frame[HOLDING]
        holds = sf.filter(frame["routes"], lambda code: (_asked(code) == 0) | sf.array_contains(holding, _asked(code)))
        frame = frame.withColumn("routes", holds).drop(HOLDING)
    if any(code >> (RANK_BITS + ASKED_BITS) for code in codes.codes):
        routes = frame["routes"]
        frame = frame.withColumn("routes", sf.filter(routes, lambda code: _is_first(code, routes)))
    return frame


def explode_routes(messages: DataFrame, codes: RouteCodes) -> DataFrame:
    """One row for each route that takes a message and each of its destinations, which balanced routes have none of yet.

    A message that no route takes keeps one row.
    """
    from pyspark.sql import functions as sf

    exploded = messages.withColumn("route_code", sf.explode_outer("routes")).drop("routes")
    known = sf.broadcast(codes.frame(messages.sparkSession).withColumnRenamed("code", "route_code"))
    joined = exploded.join(known, "route_code", "left").drop("route_code")
    sent = sf.when(joined["balance"].isNull(), joined["destinations"])
    return joined.withColumn("destination", sf.explode_outer(sent)).drop("destinations")


def _asked(code: Column) -> Column:
    from pyspark.sql import functions as sf

    return sf.shiftright(code, RANK_BITS).bitwiseAND(sf.lit((1 << ASKED_BITS) - 1)).cast("int")


def _is_first(code: Column, routes: Column) -> Column:
    """Whether a route stands for itself, or is the first of its competition among those there."""
    from pyspark.sql import functions as sf

    competition = sf.shiftright(code, RANK_BITS + ASKED_BITS)
    mask = sf.lit((1 << RANK_BITS) - 1)
    before = sf.exists(
        routes,
        lambda other: (
            (sf.shiftright(other, RANK_BITS + ASKED_BITS) == competition)
            & (other.bitwiseAND(mask) < code.bitwiseAND(mask))
        ),
    )
    return (competition == 0) | ~before
