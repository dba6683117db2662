"""The trigger ``real-time``, and what keeps a pipeline from it.

In Spark's real-time mode a batch lasts for seconds or minutes, and rows pass through it one by one. Spark 4.3 reads
Kafka alone so, writes to Kafka, to the console and with ``foreach`` alone, and runs what is on its list of operators.
Nothing that asks Python is on it, and ``resolve`` asks Python which routes match a subject. So no pipeline can run so.
"""

from __future__ import annotations

from collections.abc import Iterator

from pointsman.columns.stretches import COUNTED
from pointsman.errors import InputError
from pointsman.pipeline.delivering.choosing import names_of
from pointsman.pipeline.running.settings import PipelineFile
from pointsman.table.routing_table import RoutingTable

KAFKA = "kafka"


def check_real_time(pipeline: PipelineFile, table: RoutingTable) -> None:
    """Raises ``InputError`` (``bad-usage``) that names each stage which Spark cannot run in real time, and why."""
    if pipeline.written.trigger.kind == "real-time":
        stages = "; ".join(f"{stage}: {why}" for stage, why in _obstacles(pipeline, table))
        problem = f"the trigger 'real-time' cannot be used with this pipeline: {stages}"
        raise InputError("bad-usage", problem, file=str(pipeline.path))


def _obstacles(pipeline: PipelineFile, table: RoutingTable) -> Iterator[tuple[str, str]]:
    source = pipeline.written.source.format
    if source != KAFKA:
        yield "receive", f"Spark reads {source!r} in batches alone, and Kafka in real time"
    yield (
        "resolve",
        "it asks Python which routes match, and Spark runs nothing in real time that does (ArrowEvalPython)",
    )
    counting = [route.name for route in table.routes if route.balance in COUNTED]
    if counting:
        yield "select", f"the route {counting[0]!r} counts its messages, which needs batches"
    broken = [each.name for each in table.destinations.values() if each.breaker is not None]
    if broken:
        yield "select", f"the breaker of {broken[0]!r} is told what became of a batch"
    if table.sagas or any(route.gather is not None for route in table.routes):
        yield "follow", "sagas and gatherings have their states in Python (transformWithState)"
    sinks = pipeline.written.destinations
    others = sorted(name for name in names_of(table) if name not in sinks or sinks[name].format != KAFKA)
    if others:
        yield "deliver", f"{others[0]!r} is written batch by batch (foreachBatch), and Kafka alone in real time"
