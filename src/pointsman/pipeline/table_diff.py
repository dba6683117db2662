"""Two tables over one archive of messages, on Spark: the deliveries gained and lost."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.columns import FIELDS, PROBLEM, find, with_problems
from pointsman.pipeline.formats import Archive
from pointsman.pipeline.json_lines import PLACE
from pointsman.pipeline.spark.errors import spark_errors
from pointsman.pipeline.stages import DELIVERED, OUTCOME, route
from pointsman.table.routing_table import RoutingTable
from pointsman.table.tools.message_diff import EXAMPLES, Comparison, Effect, Example

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

POSITION = "position"
DELIVERY = ("route", "destination", "subject")
BROKEN = ("receive", "translate")
"""Stages whose problems ``decide`` raises as errors, or that come before it."""
REFUSING = ("authorize", "resolve")
"""Stages that refuse a message as ``decide`` does."""
SIDES = ("before", "after")


def diff_archive(archive: Archive, before: RoutingTable, after: RoutingTable) -> Comparison:
    """What the messages of an archive get by one table and by another, as ``table.diff_messages`` counts it.

    A delivery is a message, a route, a destination and a subject. Access is asked where the messages have a
    ``principal``. Balances begin anew for each table. Messages are told apart by their place in the archive, not by
    their ids, so that one which is there twice counts twice.

    The archive is read once. Raises ``InputError`` for the first message that cannot be read, or of which a translation
    of one of the tables makes no subject; and ``spark-failed``.
    """
    try:
        from pyspark import StorageLevel
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    base = with_problems(archive.messages)
    names = [name for name in (find(base, field) for field in FIELDS) if name is not None]
    place = sf.col(PLACE) if archive.files is not None else sf.monotonically_increasing_id()
    with spark_errors("the archive"):
        messages = base.select(place.alias(POSITION), *names, PROBLEM).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            return _comparison(_groups(_side(messages, before, 0).unionByName(_side(messages, after, 1))), archive)
        finally:
            messages.unpersist()


def _side(messages: DataFrame, table: RoutingTable, number: int) -> DataFrame:
    """A row for each delivery, and one with a NULL route for each message without, as one of the two tables decides."""
    from pyspark.sql import functions as sf

    rows = route(messages, table).rows
    sent = rows[OUTCOME] == DELIVERED
    broken, refused = rows[PROBLEM]["stage"].isin(*BROKEN), rows[PROBLEM]["stage"].isin(*REFUSING)
    shown = sf.struct(sf.col(POSITION), rows[PROBLEM]["code"], rows[PROBLEM]["reason"])
    name = find(rows, "id") or "id"
    return rows.select(
        POSITION,
        sf.col(name).alias("id"),
        *(sf.when(sent, sf.col(each)).alias(each) for each in DELIVERY),
        *(sf.when(sent & sf.lit(side == number), 1).otherwise(0).alias(each) for side, each in enumerate(SIDES)),
        *(
            sf.when(refused & sf.lit(side == number), 1).otherwise(0).alias(f"refused_{each}")
            for side, each in enumerate(SIDES)
        ),
        sf.when(broken, shown).alias("broken"),
    )


def _groups(sides: DataFrame) -> list[Any]:
    """A row for each effect, route and destination, and one without for the messages that nothing changes for.

    What is counted for each message is in the row of the first of its changes, so that the sums over all rows are
    right.
    """
    from pyspark.sql import functions as sf

    refused = [f"refused_{each}" for each in SIDES]
    # By the message first: then neither of the two groupings has to move anything.
    each = (
        sides.repartition(POSITION)
        .groupBy(POSITION, *DELIVERY)
        .agg(
            *(sf.sum(name).alias(name) for name in (*SIDES, *refused)),
            sf.min("broken").alias("broken"),
            sf.min("id").alias("id"),
        )
    )
    change = sf.struct(
        sf.when(sf.col("before") > sf.col("after"), "lost").otherwise("gained").alias("effect"),
        *map(sf.col, DELIVERY),
        sf.abs(sf.col("before") - sf.col("after")).alias("size"),
    )
    messages = each.groupBy(POSITION).agg(
        sf.collect_list(sf.when(sf.col("before") != sf.col("after"), change)).alias("changes"),
        sf.sum(sf.least(*SIDES)).alias("kept"),
        *(sf.sum(name).alias(name) for name in refused),
        sf.min("broken").alias("broken"),
        sf.min("id").alias("id"),
    )
    exploded = messages.select("*", sf.posexplode_outer("changes").alias("number", "change"))
    first = sf.coalesce(sf.col("number"), sf.lit(0)) == 0

    def once(column: Column) -> Column:
        return sf.sum(sf.when(first, column).otherwise(0))

    example = sf.struct(POSITION, sf.col("change.subject").alias("subject"), "id")
    grouped = exploded.groupBy(*(sf.col(f"change.{name}").alias(name) for name in ("effect", "route", "destination")))
    return grouped.agg(
        sf.sum("change.size").alias("size"),
        sf.min_by(example, sf.col(POSITION), EXAMPLES).alias("examples"),
        once(sf.lit(1)).alias("messages"),
        once((sf.size("changes") > 0).cast("int")).alias("differing"),
        once(sf.col("kept")).alias("kept"),
        *(once(sf.col(name)).alias(name) for name in refused),
        sf.min("broken").alias("broken"),
    ).collect()


def _comparison(groups: list[Any], archive: Archive) -> Comparison:
    broken = [tuple(row["broken"]) for row in groups if row["broken"] is not None]
    if broken:
        raise _error(min(broken), archive)
    found = Comparison()
    for row in groups:
        for name in ("messages", "differing", "kept", "refused_before", "refused_after"):
            setattr(found, name, getattr(found, name) + row[name])
        if row["effect"] is not None:
            shift = found.shift(cast("Effect", row["effect"]), row["route"], row["destination"])
            shift.count = row["size"]
            shift.examples += [_example(each, archive) for each in sorted(row["examples"])]
    return found


def _example(row: Any, archive: Archive) -> Example:
    line = archive.line(row[POSITION])
    if line is None:
        return Example(None, row["subject"], id=row["id"])
    several = len(archive.files or ()) > 1
    return Example(line.number, row["subject"], PurePath(line.file).name if several else None)


def _error(broken: tuple[int, str, str], archive: Archive) -> InputError:
    position, code, reason = broken
    line = archive.line(position)
    if line is None:
        return InputError(code, reason)
    return InputError(code, reason, file=line.file, line=line.number)
