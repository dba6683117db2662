"""Circuit breakers over a micro-batch: asked once before it, told once after it.

What ``routing.breaker`` answers at the beginning of a batch holds for all of it, because the batch is on its way before
the first result is known:

    closed              all deliveries to the destination
    open                all to its fallback, or waiting if it has none
    the reset is due    the first delivery to the destination, as the one probe; all others as if open

After the batch, ``report`` tells the breaker what became of the deliveries, first that some succeeded, if some did, and
then how many failed. So in a batch as many failures as the threshold open the breaker, wherever between them others
succeeded, and fewer count as failures in a row at its end. With batches of one message nothing differs from ``decide``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pointsman.columns.breakers import answer, answers
from pointsman.errors import MissingExtraError
from pointsman.pipeline.problem import is_fine, with_problems
from pointsman.routing import breaker
from pointsman.routing.breaker import BreakerState, Way
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State, Working

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WAITING = "its breaker is open, and it has no fallback"
"""The reason for ``waits``."""
NAME, FALLBACK, POSITION, ROUTE, RANK = (
    f"pointsman_{name}" for name in ("name", "fallback", "position", "route", "rank")
)
LAST_RANK = (1 << 31) - 1


class Outcome(NamedTuple):
    """How many deliveries of a batch to a destination, not counting those it got as a fallback, ended which way."""

    succeeded: int = 0
    failed: int = 0


def ask(deliveries: DataFrame, table: RoutingTable, state: State, now: float) -> DataFrame:
    """The deliveries of a batch, each to the destination that its breaker allows.

    They have ``route``, ``destination`` and ``position``, the place of the message in the batch. ``instead_of`` becomes
    the destination that the one there is the fallback of, or NULL; ``probe`` is true for the delivery that tries a
    destination again; ``waits`` is true for those that cannot be sent now: ``WAITING`` says why. Rows that have a
    ``problem`` are left as they are. A fallback's own breaker is not asked, as ``decide`` does not.

    Nothing is computed here unless a destination is to be tried again; then a job looks for the first delivery to it.
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    base = with_problems(deliveries)
    found = answers(table, state, now)
    broken = [name for name, answer in found.items() if answer.others.way is Way.FALLBACK]
    if not broken:
        return base.withColumns(
            {"instead_of": sf.lit(None).cast("string"), "probe": sf.lit(False), "waits": sf.lit(False)}
        )
    tried = [name for name in broken if found[name].first.way is Way.PROBE]
    probes = _first_deliveries(base, table, tried) if tried else {}
    rows = [(name, table.destinations[name].fallback, *probes.get(name, (None, None))) for name in broken]
    parts = sf.broadcast(_frame(deliveries, (NAME, FALLBACK, POSITION, ROUTE), rows))
    joined = base.join(parts, sf.when(is_fine(base), base["destination"]) == parts[NAME], "left")
    probe = (joined["position"] == joined[POSITION]) & joined["route"].eqNullSafe(joined[ROUTE])
    probe = sf.coalesce(probe, sf.lit(False))
    away = joined[NAME].isNotNull() & ~probe
    elsewhere = away & joined[FALLBACK].isNotNull()
    return joined.withColumns(
        {
            "destination": sf.when(elsewhere, joined[FALLBACK]).otherwise(joined["destination"]),
            "instead_of": sf.when(elsewhere, joined["destination"]),
            "probe": probe,
            "waits": away & joined[FALLBACK].isNull(),
        }
    ).drop(*parts.columns)


def report(table: RoutingTable, state: State, outcomes: Mapping[str, Outcome], *, asked: float, now: float) -> State:
    """The state after a batch that began with this state, was asked about at ``asked`` and ended like this at ``now``.

    ``outcomes`` has each destination that deliveries of the batch were for, also if all of them went elsewhere. What is
    said of a destination without a breaker changes nothing. A probe whose batch took longer than the probe time counts
    as failed, as it does in any runtime.
    """
    working = Working(state)
    for name, outcome in outcomes.items():
        destination = table.destinations.get(name)
        if destination is None or destination.breaker is None:
            continue
        key = Key("breaker", name)
        before = working.get(key, BreakerState())
        permit, _, after = answer(destination.breaker, before, asked)
        if permit.way is Way.FALLBACK and destination.fallback is not None:
            # All went to the fallback, of which the breaker is told nothing; what it was asked stays.
            outcome = Outcome()
        if outcome.succeeded:
            after = breaker.succeeded(destination.breaker, after, permit, now)
        for _ in range(min(outcome.failed, destination.breaker.failure_threshold)):
            after = breaker.failed(destination.breaker, after, permit, now)
        if after is not before:
            working.put(key, after)
    return state.updated(working.changes)


def _first_deliveries(base: DataFrame, table: RoutingTable, names: list[str]) -> dict[str, tuple[int, str]]:
    """The position and the route of the first delivery to each of these, as ``decide`` makes them."""
    from pyspark.sql import functions as sf

    pairs = dict.fromkeys((route.name, name) for route in table.routes for name in route.names if name in names)
    ranks = sf.broadcast(_frame(base, (ROUTE, NAME, RANK), [(*pair, rank) for rank, pair in enumerate(pairs)]))
    wanted = base.where(is_fine(base) & base["destination"].isin(names))
    ranked = wanted.join(ranks, (wanted["route"] == ranks[ROUTE]) & (wanted["destination"] == ranks[NAME]), "left")
    order = sf.struct("position", sf.coalesce(ranked[RANK], sf.lit(LAST_RANK)), "route")
    firsts = ranked.groupBy("destination").agg(sf.min(order).alias("first")).collect()
    return {row["destination"]: (row["first"]["position"], row["first"]["route"]) for row in firsts}


def _frame(like: DataFrame, names: tuple[str, ...], rows: list[tuple[object, ...]]) -> DataFrame:
    """A small table in the session of another, of Arrow data, which Spark takes into the plan itself."""
    import pyarrow as pa

    types = {POSITION: pa.int64(), RANK: pa.int32()}
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    made = {name: pa.array(values, types.get(name, pa.string())) for name, values in zip(names, columns, strict=True)}
    return like.sparkSession.createDataFrame(pa.table(made))
