"""Balanced routes over a micro-batch: a destination for each delivery, and the state that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pointsman.columns.stretches import COUNTED
from pointsman.columns.turns import moved
from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.balancing.plan import BEGIN, CODE, END, REASON, ROUTE, STEPS, Plan
from pointsman.pipeline.balancing.sticky import sticking
from pointsman.pipeline.columns import find
from pointsman.pipeline.problem import is_fine, with_problem, with_problems
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ASKED = "pointsman_asked"
NUMBER = "pointsman_number"
DESTINATION = "destination"
SPREAD = 1024
LARGEST = (1 << 63) - 1


class Balanced(NamedTuple):
    """Deliveries with their destinations, and what is needed for the state that they leave."""

    deliveries: DataFrame
    table: RoutingTable
    before: State

    def state(self) -> State:
        """The state after these deliveries: runs a Spark job that counts them, unless no route remembers anything."""
        return moved(self.table, self.before, taken(self.deliveries, self.table))


def balance(deliveries: DataFrame, table: RoutingTable, state: State, *, seed: int) -> Balanced:
    """The deliveries of a batch with ``destination``, as ``decide`` chooses it message after message.

    There is a row for each message and route that takes it: ``route``, ``position`` (bigint, the place of the message
    in the batch, another one for each message) and ``balance_key`` (string), which only tables with sticky routes need.
    Rows that have a ``problem``, and those of routes that do not balance, keep the ``destination`` that they have.
    Where nothing can be chosen the row gets a problem that says what the trace of ``decide`` says.

    ``seed`` is for the kind ``random`` alone, whose choice is a hash of the seed, the route and the position: another
    seed for each batch, such as its number, and the same one if it is replayed. All other kinds agree with ``decide``.

    Nothing is computed here. The deliveries are shuffled by route if a route goes round robin, by weights or by least
    connections, and not at all otherwise. Raises ``InputError`` (``bad-usage``) when a column is missing.
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    plan = Plan.of(table, state)
    _check(deliveries, plan)
    base = with_problems(deliveries)
    if DESTINATION not in base.columns:
        base = base.withColumn(DESTINATION, sf.lit(None).cast("string"))
    if not plan.rows:
        return Balanced(base, table, state)
    asked = base.withColumn(ASKED, sf.when(is_fine(base) & base["route"].isin(plan.names), base["route"]))
    numbered = asked.withColumn(NUMBER, _number(asked, plan, seed))
    parts = sf.broadcast(plan.frame(deliveries.sparkSession))
    within = (numbered[NUMBER] >= parts[BEGIN]) & (numbered[NUMBER] < parts[END])
    joined = numbered.join(parts, (numbered[ASKED] == parts[ROUTE]) & within, "left")
    place = sf.pmod(joined[NUMBER] - joined[BEGIN], sf.size(joined[STEPS])).cast("int")
    chosen = sf.element_at(joined[STEPS], place + 1)
    if plan.sticky:
        sticky = sf.when(joined[ASKED].isin(list(plan.sticky)), joined[ASKED])
        chosen = sf.coalesce(chosen, sticking(plan.sticky)(sticky, joined["balance_key"]))
    sent = joined.withColumn(DESTINATION, sf.when(joined[ASKED].isNull(), joined[DESTINATION]).otherwise(chosen))
    nothing = sent[ASKED].isNotNull() & sent[DESTINATION].isNull()
    told = with_problem(sent, "select", sent[CODE], sent[REASON], nothing)
    return Balanced(told.drop(ASKED, NUMBER, *parts.columns), table, state)


def taken(deliveries: DataFrame, table: RoutingTable) -> dict[str, int]:
    """How many choices each route made whose balance depends on that: one small aggregation, or no job at all.

    The deliveries are those that ``balance`` gave, before another stage has found a problem with one.
    """
    names = [route.name for route in table.routes if route.balance in COUNTED]
    if not names:
        return {}
    chosen = deliveries.where(is_fine(deliveries) & deliveries["route"].isin(names))
    return {row["route"]: row["count"] for row in chosen.groupBy("route").count().collect()}


def _check(deliveries: DataFrame, plan: Plan) -> None:
    needed = ["route", "position", *(["balance_key"] if plan.sticky else [])] if plan.rows else ["route"]
    for name in needed:
        if find(deliveries, name) is None:
            known = ", ".join(map(repr, deliveries.columns))
            raise InputError("bad-usage", f"deliveries have no column {name!r}, only {known}")


def _number(asked: DataFrame, plan: Plan, seed: int) -> Column:
    """The number of the choice among those of its route; a hash for the kind random, and 0 where no number is used."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    route, position = asked[ASKED], asked["position"]
    number = sf.lit(0).cast("bigint")
    if plan.random:
        hashed = sf.xxhash64(sf.lit(seed), route, position).bitwiseAND(sf.lit(LARGEST))
        number = sf.when(route.isin(list(plan.random)), hashed).otherwise(number)
    if not plan.counted:
        return number
    names = [each.name for each in plan.counted]
    counts = sf.coalesce(route.isin(names), sf.lit(False))
    # The rows of all other routes are spread, or they would all come to one task.
    spread = sf.when(~counts, sf.pmod(position, sf.lit(SPREAD)))
    window = Window.partitionBy(sf.when(counts, route), spread).orderBy(position)
    return sf.when(counts, sf.row_number().over(window).cast("bigint") - 1).otherwise(number)
