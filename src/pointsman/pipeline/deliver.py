"""The stage ``deliver``, to be used alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.columns import refuse_columns
from pointsman.pipeline.destinations.choice import Destinations, claim_folders
from pointsman.pipeline.destinations.deliverer import WAITS, Deliverer, Group, Slices, Written
from pointsman.pipeline.destinations.place import Sink
from pointsman.pipeline.queue_source import register
from pointsman.pipeline.spark.files import files_of
from pointsman.pipeline.stages import DELIVERED, OUTCOME
from pointsman.pipeline.state.breakers import WAITING
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FAILURE = "failure"


def deliver(
    deliveries: DataFrame,
    table: RoutingTable,
    out: str | Path,
    *,
    sinks: Mapping[str, Sink | Mapping[str, Any]] | None = None,
    form: str = "json",
    queue: str | Path | None = None,
    batch: int = 0,
    query: str = "deliver",
) -> DataFrame:
    """Makes deliveries, such as ``route(…).deliveries``; they come back with ``failure``: NULL, or why it was not made.

    Each goes where its destination is: as ``sinks`` say, by its name, or else as its type in the table says. What has
    no place of its own is written under ``out``, in the format ``form``, and the dead letters, what was not made, too.
    ``queue`` is the file of the queue that a destination of the type ``subject`` publishes into. Relative paths are
    relative to the working folder.

    ``query`` and ``batch`` tell this call from others: one with the same takes the place of what an earlier one has
    left, and puts nothing into a queue twice; a folder holds the batches of one ``query``. What comes back can be
    computed any number of times; nothing is delivered again by it.

    Raises ``InputError``: ``bad-destination`` before anything is delivered, if there is one that cannot be delivered
    to; ``folder-taken`` for a folder that holds batches of another query; ``bad-usage`` for columns that are missing or
    in the way. A destination that fails raises nothing.
    """
    try:
        from pyspark.sql import functions as sf
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    refuse_columns(deliveries, FAILURE, OUTCOME)
    register(deliveries.sparkSession)
    destinations = Destinations(
        {name: _sink(name, sink) for name, sink in (sinks or {}).items()},
        _absolute(str(out)),
        form,
        _absolute,
        None if queue is None else _absolute(str(queue)),
    )
    destinations.check(table)
    claim_folders(files_of(deliveries.sparkSession), destinations.claims, query)
    deliverer = Deliverer(destinations, _absolute(str(out)), query, form)
    slices = deliverer.write(deliveries.withColumn(OUTCOME, sf.lit(DELIVERED)), batch)
    groups = groups_of(slices)
    written = deliverer.deliver(slices, table, batch, groups)
    return _with_failures(slices, groups, written)


def groups_of(slices: Slices) -> list[Group]:
    """How many deliveries were written of each group: one job, which reads what is written."""
    found: list[Group] = []
    for outcome in (DELIVERED, WAITS):
        if not slices.has(outcome):
            continue
        rows = slices.of(outcome)
        keys = [name for name in ("destination", "instead_of") if name in rows.columns]
        for row in rows.groupBy(*keys).count().collect():
            values = row.asDict()
            found.append(Group(values["destination"], values.get("instead_of"), outcome == WAITS, values["count"]))
    return found


def _with_failures(slices: Slices, groups: list[Group], written: Written) -> DataFrame:
    """The deliveries as they were written, each with why it was not made, or NULL."""
    from pyspark.sql import functions as sf

    found: DataFrame | None = None
    for outcome in (DELIVERED, WAITS):
        if not any(group.waits == (outcome == WAITS) for group in groups):
            continue
        frame, made = slices.of(outcome), []
        reason: Column = sf.lit(WAITING if outcome == WAITS else None).cast("string")
        for number, (name, failure) in enumerate(written.failures.items() if outcome == DELIVERED else ()):
            told: Column = sf.lit(failure.reason)
            if failure.undelivered is not None:
                key, text = f"pointsman_id_{number}", f"pointsman_told_{number}"
                made += [key, text]
                left = failure.undelivered.groupBy(sf.col("delivery_id").alias(key)).agg(sf.min("reason").alias(text))
                frame = frame.join(left, frame["delivery_id"] == left[key], "left")
                told = sf.col(text)
            reason = sf.when(sf.col("destination") == name, told).otherwise(reason)
        part = frame.withColumn(FAILURE, reason).drop(*made)
        found = part if found is None else found.unionByName(part)
    return slices.nothing().withColumn(FAILURE, sf.lit(None).cast("string")) if found is None else found


def _sink(name: str, given: Sink | Mapping[str, Any]) -> Sink:
    if isinstance(given, Sink):
        return given
    try:
        return Sink.model_validate(dict(given))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise InputError("bad-destination", f"destination {name!r}: {problem}") from None


def _absolute(text: str) -> str:
    return text if "://" in text else str(Path(text).absolute())
