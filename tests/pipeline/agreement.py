"""What ``decide`` and ``pipeline.route`` make of the same messages, in one form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pointsman.columns.balance import moved
from pointsman.columns.subjects import NO_SUBJECT
from pointsman.errors import SubjectError, TemplateError
from pointsman.pipeline import route
from pointsman.pipeline.stages import DELIVERED, QUARANTINED, UNROUTED
from pointsman.routing.balance import Kind
from pointsman.routing.breaker import Way
from pointsman.table.decision import Decision
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import Key, State
from tests.pipeline.tables import NOW, Case, Sent, shown

SCHEMA = pa.schema(
    [
        ("table", pa.int64()),
        ("position", pa.int64()),
        ("id", pa.string()),
        ("subject", pa.string()),
        ("metadata", pa.map_(pa.string(), pa.string())),
        ("body", pa.binary()),
        ("time", pa.timestamp("us", "UTC")),
        ("source", pa.string()),
        ("correlation_id", pa.string()),
        ("causation_id", pa.string()),
        ("content_type", pa.string()),
        ("principal", pa.string()),
    ]
)
SEED = 7
QUICK_PLANS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for plans that are used once on a few rows: to compile them would take longer than to run them."""


class Outcome(NamedTuple):
    """What becomes of a message by one route, or of a message that no route gets."""

    id: str
    outcome: str
    subject: str | None
    original_subject: str | None
    route: str | None = None
    destination: str | None = None
    delivery_id: str | None = None
    instead_of: str | None = None
    probe: bool = False
    waits: bool = False
    problem: tuple[str, str, str] | None = None


class Result(NamedTuple):
    """What becomes of the messages of a table, and the state of its balances afterwards."""

    rows: Counter[Outcome]
    balances: dict[Key, Any]


def frame_of(spark: SparkSession, sent: Sequence[Sent]) -> DataFrame:
    """The messages as rows of one partition, in their order: so balances choose as ``decide`` does."""
    rows = [row_of(0, position, each) for position, each in enumerate(sent)]
    return spark.createDataFrame(pa.Table.from_pylist(rows, SCHEMA)).coalesce(1)


def row_of(number: int, position: int, sent: Sent) -> dict[str, Any]:
    """A message as a row of ``SCHEMA``."""
    row: dict[str, Any] = {"table": number, "position": position, "id": sent.id, "principal": sent.principal}
    if sent.message is not None:
        names = set(SCHEMA.names) - {"table", "position", "id", "principal", "metadata"}
        row |= {name: getattr(sent.message, name) for name in names}
        row["metadata"] = [*sent.message.metadata.items()]
    return row


def routed(spark: SparkSession, case: Case) -> Result:
    """What Spark makes of a case."""
    found = route(frame_of(spark, case.sent), case.table, state=case.state, now=NOW, seed=SEED).rows
    known = [name for name in Outcome._fields if name in found.columns]
    rows: Counter[Outcome] = Counter()
    for each in found.select(*known).collect():
        values = each.asDict()
        problem = values.pop("problem")
        rows[Outcome(**values, problem=None if problem is None else tuple(problem))] += 1
    return Result(rows, _balances(case, rows))


def _balances(case: Case, rows: Counter[Outcome]) -> dict[Key, Any]:
    """As ``Balanced.state`` works it out, from rows that are here already."""
    counts: Counter[str] = Counter()
    for row, count in rows.items():
        if row.route is not None and row.problem is None:
            counts[row.route] += count
    return balances_of(moved(case.table, case.state, counts))


def balances_of(state: State) -> dict[Key, Any]:
    """The part of a state that balanced routes are in."""
    return {key: value for key, value in state.items() if key.kind == "balance"}


def decided(case: Case, found: Counter[Outcome]) -> Result:
    """What ``decide`` makes of the case, message after message.

    Only chance is not its own: a route of the kind random chooses what was chosen in ``found``.
    """
    chosen = {(row.id, row.route): row.instead_of or row.destination for row in found}
    rows: Counter[Outcome] = Counter()
    state = case.state
    for sent in case.sent:
        if sent.message is None:
            rows[Outcome(sent.id, QUARANTINED, None, None, problem=tuple(NO_SUBJECT))] += 1
            continue
        subject = sent.message.subject
        chance = partial(next, _chances(case.table, sent.id, chosen))
        try:
            decision = case.table.decide(
                sent.message, state, now=NOW, random=chance, principal=sent.principal, trace=True
            )
        except TemplateError as error:
            problem = error.__cause__.problem if isinstance(error.__cause__, SubjectError) else error.problem
            why = (
                "translate",
                "invalid-result",
                f"the template {error.text or ''!r} makes of it what is no subject: {problem}",
            )
            rows[Outcome(sent.id, QUARANTINED, subject, subject, problem=why)] += 1
            continue
        rows.update(_outcomes(sent.id, subject, decision))
        state = decision.state
    return Result(rows, balances_of(state))


def _chances(table: RoutingTable, id: str, chosen: dict[tuple[str, str | None], str | None]) -> Iterator[float]:
    """Numbers that make the routes of the kind random, in the order of the table, choose these destinations."""
    for each in table.routes:
        name = chosen.get((id, each.name))
        usable = [destination.name for destination in each.destinations if destination.weight > 0]
        if each.balance is Kind.RANDOM and name in usable:
            yield (usable.index(name) + 0.5) / len(usable)
    while True:
        yield 0.0


def _outcomes(id: str, subject: str, decision: Decision) -> Iterator[Outcome]:
    if decision.error is not None:
        stage = decision.trace[-1].stage
        why = (stage, decision.error.code, decision.error.problem)
        # What a translation makes of a subject that is refused is not kept.
        kept = subject if stage == "translate" else decision.subject
        yield Outcome(id, QUARANTINED, kept, subject, problem=why)
        return
    empty = True
    for each in decision.deliveries:
        ways = None if each.permit is None else each.permit.way
        names = (each.route, each.destination, f"{id}/{each.route}/{each.destination}", each.instead_of)
        yield Outcome(id, DELIVERED, each.subject, subject, *names, ways is Way.PROBE, ways is Way.FALLBACK)
        empty = False
    for name, code, reason in decision.problems:
        why = ("select", code, f"nothing is chosen: {reason}")
        yield Outcome(id, QUARANTINED, decision.subject, subject, name, problem=why)
        empty = False
    if empty:
        yield Outcome(id, UNROUTED, decision.subject, subject)


def disagreement(case: Case, found: Result) -> str | None:
    """What the two do not agree about, for people; None if there is nothing."""
    wanted = decided(case, found.rows)
    problems = [f"only decide: {row}" for row in (wanted.rows - found.rows).elements()]
    problems += [f"only Spark:  {row}" for row in (found.rows - wanted.rows).elements()]
    if wanted.balances != found.balances:
        problems.append(f"the state is {found.balances} and not {wanted.balances}")
    return "\n".join([*problems[:10], shown(case)]) if problems else None
