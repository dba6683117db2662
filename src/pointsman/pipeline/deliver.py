"""The stage ``deliver``, to be used alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from pointsman.errors import InputError, MissingExtraError
from pointsman.pipeline.breaking import WAITING
from pointsman.pipeline.columns import refuse_columns
from pointsman.pipeline.delivering.choosing import Places, Surroundings
from pointsman.pipeline.delivering.claims import claim_folders
from pointsman.pipeline.delivering.deliverer import Deliverer, Group, Written
from pointsman.pipeline.delivering.files import Files
from pointsman.pipeline.delivering.sink import Sink
from pointsman.pipeline.queue_source.registering import register
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
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtraError("spark", "pyspark") from None
    refuse_columns(deliveries, FAILURE)
    register(deliveries.sparkSession)
    places = Places(
        Surroundings(
            {name: _sink(name, sink) for name, sink in (sinks or {}).items()},
            _absolute(str(out)),
            form,
            _absolute,
            None if queue is None else _absolute(str(queue)),
        )
    )
    places.check(table)
    claim_folders(Files(deliveries.sparkSession), places.claims, query)
    was_kept = deliveries.is_cached
    deliveries.persist()
    try:
        written = Deliverer(places, _absolute(str(out)), query).deliver(deliveries, table, batch, groups_of(deliveries))
    finally:
        if not was_kept:
            deliveries.unpersist()
    return _with_failures(deliveries, written)


def groups_of(deliveries: DataFrame) -> list[Group]:
    """How many there are of each group: one job."""
    from pyspark.sql import functions as sf

    present = deliveries.columns
    keys: list[Column] = [
        deliveries["destination"],
        (deliveries["instead_of"] if "instead_of" in present else sf.lit(None).cast("string")).alias("instead_of"),
        (deliveries["waits"] if "waits" in present else sf.lit(False)).alias("waits"),
    ]
    return [Group(*row) for row in deliveries.groupBy(*keys).count().collect()]


def _with_failures(deliveries: DataFrame, written: Written) -> DataFrame:
    from pyspark.sql import functions as sf

    reason: Column = sf.lit(None).cast("string")
    frame, made = deliveries, []
    for number, (name, failure) in enumerate(written.failures.items()):
        told: Column = sf.lit(failure.reason)
        if failure.undelivered is not None:
            key, text = f"pointsman_id_{number}", f"pointsman_told_{number}"
            made += [key, text]
            left = failure.undelivered.groupBy(sf.col("delivery_id").alias(key)).agg(sf.min("reason").alias(text))
            frame = frame.join(left, frame["delivery_id"] == left[key], "left")
            told = sf.col(text)
        reason = sf.when(sf.col("destination") == name, told).otherwise(reason)
    if "waits" in deliveries.columns:
        reason = sf.when(sf.col("waits"), sf.lit(WAITING)).otherwise(reason)
    return frame.withColumn(FAILURE, reason).drop(*made)


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
