"""The stages of the routing table as functions from DataFrame to DataFrame.

    route = authorize ─▶ translate ─▶ resolve ─▶ select      in one crossing to Python

Each stage is also there alone, for a job or a notebook that wants only that one; a crossing of its own is its price.
Nothing is computed by any of them. What decides is ``pointsman.columns``; here is only what Spark needs around it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.columns import (
    PROBLEM,
    TYPE,
    MessageColumns,
    find,
    is_fine,
    refuse_columns,
    with_problem,
    with_problems,
)
from pointsman.pipeline.crossing import RECEIVED, Told, cross, part_of
from pointsman.subscriptions.output_adapter import ROUTE as SUBSCRIPTIONS
from pointsman.table.routing_table import RoutingTable
from pointsman.table.state import State
from pointsman.table.tools.messages_file import MAXIMUM_LINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pointsman.columns.codes import Codes
    from pointsman.columns.plans import Plans
    from pointsman.patterns import Pattern

OUTCOME = "outcome"
DELIVERED, QUARANTINED, UNROUTED = "delivered", "quarantined", "unrouted"
OF_DELIVERIES = ("strategy", "destination", "instead_of", "probe", "waits", "delivery_id")
"""Columns that only deliveries have something in."""
ORIGINAL, ROUTES = "original_subject", "routes"
MADE, CODE, PLACE = "pointsman_made", "pointsman_code", "pointsman_place"
"""``PLACE`` counts the codes of a message."""
TO = "pointsman_to"
"""What a row of subscriptions delivers: the owner, the destination, how many matched and which."""
OF_SUBSCRIPTIONS = ("owner", "matched", "subscriptions")
"""Columns that only deliveries of subscriptions have."""
NO_STATE = State()
WILDCARDS = "*>#+"
MOST_PREFIXES = 64
"""Beginnings of subjects that Spark compares with, to tell which bodies need not cross; with more, all do."""


class Routed(NamedTuple):
    """What became of messages: every message has at least one row, with its ``outcome``."""

    rows: DataFrame
    table: RoutingTable
    before: State

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

    def state(self) -> State:
        """The state of the balances after these messages: runs a job that counts, unless no route counts."""
        from pointsman.columns.balance import COUNTED, moved

        names = [route.name for route in self.table.routes if route.balance in COUNTED]
        if not names:
            return self.before
        chosen = self.deliveries.where(self.rows["route"].isin(names))
        counts = {row["route"]: row["count"] for row in chosen.groupBy("route").count().collect()}
        return moved(self.table, self.before, counts)

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
    ``principal`` says who publishes all of them, whatever their column says. ``state`` is that of balances and breakers
    before these messages, ``now`` the time for the breakers, ``seed`` the source of chance: another one for each batch,
    such as its number, and the same one if it is repeated. Sagas and answers are not followed here.

    Balances that count give each destination its share to within one per partition of the messages; which message goes
    where is not promised. Nothing is computed here, so it may be a stream, if no balance counts and no breaker is open:
    those need a batch. A destination that is to be tried again costs a job that looks for the delivery to try it with.

    Raises ``InputError``: ``bad-usage`` for columns that are missing, of another type or in the way, and for a stream
    that needs batches; ``function-on-spark`` for a table with Python functions. ``MissingExtraError`` without pyspark.
    """
    from_spark()
    coded = code(messages, table, principal=principal, state=state, now=now, seed=seed)
    return Routed(coded.named(), table, state)


def authorize(messages: DataFrame, table: RoutingTable, *, principal: str | None = None) -> DataFrame:
    """The messages, with a ``problem`` for each that ``RoutingTable.decide`` refuses by the access rules of the table.

    Who publishes a message is said by ``principal`` for all of them, and else by the column ``principal``. A message
    without one is that of a trusted caller, and so is every message of a table without access rules. The code is
    ``publish-refused``, and the reason is that of ``Access.check``. A message without a subject passes here, and
    ``resolve`` sets it aside. Rows that have a problem already are left alone, and no row is added or taken away.
    Raises as ``route``.
    """
    from_spark()
    base = with_problems(messages)
    columns = MessageColumns(base)
    if table.access is None or (principal is None and not columns.has("principal")):
        return base
    part = part_of(table, "access")
    made = base.withColumn(MADE, cross(part, crossing_columns(base, part, principal), ("problem",), Told(principal)))
    return _with_made(made, "authorize").drop(MADE)


def translate(messages: DataFrame, table: RoutingTable) -> DataFrame:
    """The messages under the subjects that the table translates theirs to, as ``RoutingTable.decide`` does.

    The column ``subject`` becomes the new one, and the new column ``original_subject`` has the old one. Where the new
    one would be no subject, which ``decide`` raises as an error, the row keeps the old one and gets a ``problem`` with
    the code ``invalid-result``; a subject outside the naming standard that the table enforces gets one, too. Rows that
    have a problem already are left alone, and no row is added or taken away. Raises as ``route``.
    """
    from_spark()
    base = with_problems(messages)
    refuse_columns(base, ORIGINAL)
    subject = MessageColumns(base).subject
    kept = base.withColumn(ORIGINAL, subject)
    part = part_of(table, "translations", "naming", "standards")
    if not part.translations and part.enforced is None:
        return kept
    made = kept.withColumn(MADE, cross(part, crossing_columns(base, part, None), ("subject", "problem"), Told()))
    return _with_subject(_with_made(made, "translate")).drop(MADE)


def resolve_routes(messages: DataFrame, table: RoutingTable) -> DataFrame:
    """The messages with ``routes``: the numbers of the enabled routes that may take them, for ``select``.

    Those that cannot be taken whatever the message says, as one before them in their group always is, are left out.
    A subject that is NULL, or invalid in every dialect used, is a problem; its ``routes`` are NULL.
    """
    from_spark()
    refuse_columns(messages, ROUTES)
    base = with_problems(messages)
    part = part_of(table, "routes")
    columns = {"subject": crossing_columns(base, part, None)["subject"]}
    made = base.withColumn(MADE, cross(part, columns, ("routes", "problem"), Told()))
    return _with_made(made.withColumn(ROUTES, made[MADE][ROUTES]), "resolve").drop(MADE)


def select(
    messages: DataFrame, table: RoutingTable, *, state: State = NO_STATE, now: float = 0.0, seed: int = 0
) -> Routed:
    """The deliveries of messages that have gone through ``resolve``; otherwise as ``route``."""
    from_spark()
    base = with_ids(with_problems(messages), seed)
    if find(base, ROUTES) is None:
        raise InputError("bad-usage", f"messages have no column {ROUTES!r}, which the stage resolve adds")
    if find(base, ORIGINAL) is None:
        base = base.withColumn(ORIGINAL, MessageColumns(base).subject)
    part = part_of(table)
    columns = crossing_columns(base, part, None)
    columns |= {"original_subject": base[ORIGINAL], ROUTES: base[ROUTES]}
    told = Told(None, tuple(state.as_data()), now, seed)
    return Routed(_coded(base, part, columns, ("codes",), told, state).named(), table, state)


def from_spark() -> None:
    """Raises ``MissingExtraError`` without pyspark."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None


# -- what crosses


def crossing_columns(base: DataFrame, part: RoutingTable, principal: str | None) -> dict[str, Column]:
    """The columns that the table reads, by their names, as far as the messages have them.

    A body, and metadata, cross only with subjects that a route which reads them may take.
    """
    from pyspark.sql import functions as sf

    columns = MessageColumns(base)
    found = {"subject": sf.when(is_fine(base), columns.subject)}
    if part.access is not None and principal is None and columns.has("principal"):
        found["principal"] = columns.principal
    plans, _ = prepared(part)
    for name in sorted(frozenset[str]().union(*plans.reads)):
        if columns.has(name):
            column = getattr(columns, name)
            wanted = _may_read(part, plans, name, columns.subject) if name in ("body", "metadata") else None
            found[name] = column if wanted is None else sf.when(wanted, column)
    return found


@lru_cache(maxsize=16)
def prepared(part: RoutingTable) -> tuple[Plans, Codes]:
    """The plans and the codes of a table, as its workers number them."""
    from pointsman.columns.codes import Codes
    from pointsman.columns.plans import Plans

    plans = Plans(part)
    return plans, Codes(part, plans.routes)


def _may_read(part: RoutingTable, plans: Plans, field: str, subject: Column) -> Column | None:
    """Whether a route that reads the field may take the subject, by how it begins; None if any may."""
    from pyspark.sql import functions as sf

    patterns = [route.pattern for route, reads in zip(plans.routes, plans.reads, strict=True) if field in reads]
    # What is translated may become anything.
    patterns += [rule.template.source for rule in part.translations]
    prefixes = sorted({_prefix(pattern) for pattern in patterns})
    if not all(prefixes) or len(prefixes) > MOST_PREFIXES:
        return None
    wanted = sf.lit(False)
    for prefix in prefixes:
        wanted = wanted | sf.startswith(subject, sf.lit(prefix))
    return wanted


def _prefix(pattern: Pattern) -> str:
    """How every subject that the pattern matches begins; nothing where case does not matter."""
    if pattern.dialect.ignores_case:
        return ""
    text = pattern.text
    end = min((at for at in map(text.find, WILDCARDS) if at >= 0), default=len(text))
    return text if end == len(text) else text[:end].removesuffix(pattern.dialect.separator)


# -- what comes back


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


def _with_made(frame: DataFrame, stage: str) -> DataFrame:
    """The frame with the problems that this stage has found."""
    problem = frame[MADE]["problem"]
    return with_problem(frame, stage, problem["code"], problem["reason"], problem["stage"] == stage)


def _with_subject(frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    new = sf.when(is_fine(frame), frame[MADE]["subject"])
    return frame.withColumn(MessageColumns(frame).name("subject") or "subject", sf.coalesce(new, frame[ORIGINAL]))


class Coded(NamedTuple):
    """Rows with the codes of what becomes of them, before they are named."""

    rows: DataFrame
    codes: Codes

    def named(self) -> DataFrame:
        """The rows of ``Routed``: with what their codes stand for, and the ``outcome`` of each."""
        from pyspark.sql import functions as sf

        rows, codes = self
        fields = ["route", "strategy", "destination"]
        fields += ["instead_of", "probe", "waits"] if codes.is_guarded else []
        changed: dict[str, Column] = {name: _name(codes, name, rows[CODE]) for name in fields}
        for name in ("probe", "waits"):
            if name in changed:
                changed[name] = sf.coalesce(changed[name], sf.lit(False))
        if codes.stuck:
            changed[PROBLEM] = sf.coalesce(rows[PROBLEM], _name(codes, "problem", rows[CODE]))
        if TO in rows.columns:
            to = rows[TO]
            changed["route"] = sf.coalesce(changed["route"], sf.concat(sf.lit(SUBSCRIPTIONS), to["owner"]))
            changed["destination"] = sf.coalesce(changed["destination"], to["destination"])
            changed |= {name: to[name] for name in OF_SUBSCRIPTIONS}
        known = rows.withColumns(changed).drop(CODE, PLACE, TO)
        outcome: Column = (
            sf.when(known[PROBLEM].isNotNull(), QUARANTINED)
            .when(known["route"].isNull(), UNROUTED)
            .otherwise(DELIVERED)
        )
        delivery = sf.concat_ws("/", MessageColumns(known).id, known["route"], known["destination"])
        return known.withColumns({OUTCOME: outcome, "delivery_id": sf.when(outcome == DELIVERED, delivery)})


def code(
    messages: DataFrame,
    table: RoutingTable,
    *,
    principal: str | None = None,
    state: State = NO_STATE,
    now: float = 0.0,
    seed: int = 0,
    subscribed: bool = False,
) -> Coded:
    """``route`` up to the codes: a row for each, and one without a code for a message that has none.

    ``PLACE`` counts the rows of a message from 0; it is NULL without a code. With ``subscribed`` each message that is
    fine has the code ``asking`` besides.
    """
    base = with_ids(with_problems(messages), seed)
    refuse_columns(base, ORIGINAL, ROUTES)
    part = part_of(table)
    columns = crossing_columns(base, part, principal)
    fields = ("codes", *(("subject",) if part.translations else ()), "problem")
    told = Told(principal, tuple(state.as_data()), now, seed, subscribed=subscribed)
    return _coded(base, part, columns, fields, told, state)


def code_lines(
    lines: DataFrame,
    table: RoutingTable,
    keys: Mapping[str, str],
    *,
    principal: str | None = None,
    state: State = NO_STATE,
    now: float = 0.0,
    seed: int = 0,
    subscribed: bool = False,
) -> Coded:
    """``code`` for lines of JSON in the column ``line``, which become messages in the crossing that decides.

    ``keys`` are as for ``columns.receive``. A message without an id gets one that follows from its line, the number of
    the batch and its place.
    """
    from pyspark.sql import functions as sf

    part = part_of(table)
    told = Told(principal, tuple(state.as_data()), now, seed, subscribed=subscribed, keys=tuple(keys.items()))
    fits = sf.octet_length("line") <= MAXIMUM_LINE
    columns = {"line": sf.when(fits, lines["line"].cast("binary"))}
    _, codes = prepared(part)
    told = _with_probers(lines, part, codes, columns, ("codes",), told, state)
    fields = (*RECEIVED, *((ORIGINAL,) if part.translations else ()), "codes")
    made = lines.select(cross(part, columns, fields, told).alias(MADE))
    shown = [made[MADE][name].alias(name) for name in fields if name != "codes"]
    if ORIGINAL not in fields:
        shown.append(made[MADE]["subject"].alias(ORIGINAL))
    return Coded(made.select(*shown, sf.posexplode_outer(made[MADE]["codes"]).alias(PLACE, CODE)), codes)


def _coded(
    base: DataFrame, part: RoutingTable, columns: dict[str, Column], fields: tuple[str, ...], told: Told, state: State
) -> Coded:
    from pyspark.sql import functions as sf

    _, codes = prepared(part)
    refuse_columns(base, OUTCOME, "route", *OF_DELIVERIES)
    _refuse_stream(base, part)
    told = _with_probers(base, part, codes, columns, fields, told, state)
    made = base.withColumn(MADE, cross(part, columns, fields, told))
    subject = MessageColumns(base).name("subject") or "subject"
    problem = sf.coalesce(base[PROBLEM], made[MADE]["problem"]) if "problem" in fields else base[PROBLEM]
    changed = {PROBLEM: problem}
    if find(base, ORIGINAL) is None:
        changed[ORIGINAL] = base[subject]
    if "subject" in fields:
        changed[subject] = sf.coalesce(made[MADE]["subject"], base[subject])
    rows = made.withColumns(changed).select("*", sf.posexplode_outer(made[MADE]["codes"]).alias(PLACE, CODE))
    return Coded(rows.drop(MADE, ROUTES), codes)


def _name(codes: Codes, field: str, code: Column) -> Column:
    """A field of what the code stands for, from an array that Spark makes a constant of."""
    from pyspark.sql import functions as sf

    values = [getattr(each, field) for each in codes.names]
    if field == "problem":
        values = [None if each is None else each._asdict() for each in values]
    kind = {"problem": TYPE, "probe": "boolean", "waits": "boolean"}.get(field, "string")
    return sf.get(sf.from_json(sf.lit(json.dumps(values, ensure_ascii=False)), f"array<{kind}>"), code)


def _refuse_stream(base: DataFrame, part: RoutingTable) -> None:
    from pointsman.columns.balance import COUNTED

    counting = [route.name for route in part.routes if route.balance in COUNTED]
    if base.isStreaming and counting:
        problem = f"{counting[0]!r} counts its messages, which a stream cannot do as a whole: route each of its batches"
        raise InputError("bad-usage", f"{problem} in foreachBatch")


# -- breakers


def _with_probers(
    base: DataFrame,
    part: RoutingTable,
    codes: Codes,
    columns: dict[str, Column],
    fields: tuple[str, ...],
    told: Told,
    state: State,
) -> Told:
    """What workers are told, with the partition that has the first delivery to each destination to be tried again.

    Only if there is such a destination, it costs a job.
    """
    from pointsman.columns.balance import answers
    from pointsman.routing.breaker import Way

    if all(answer.first.way is not Way.PROBE for answer in answers(part, state, told.now).values()):
        return told
    from pyspark.sql import functions as sf

    if base.isStreaming:
        raise InputError("bad-usage", "a breaker is to be tried again, which needs a batch: route in foreachBatch")
    made = base.select(sf.spark_partition_id().alias("part"), cross(part, columns, fields, told).alias(MADE))
    tried = made.select("part", sf.explode(made[MADE]["codes"]).alias(CODE)).where(
        sf.col(CODE).between(2 * codes.size, 3 * codes.size - 1)
    )
    firsts = tried.groupBy(CODE).agg(sf.min("part").alias("part")).collect()
    found: dict[str, int] = {}
    for row in firsts:
        name = codes.names[row[CODE]].destination or ""
        found[name] = min(row["part"], found.get(name, row["part"]))
    return told._replace(probers=found)
