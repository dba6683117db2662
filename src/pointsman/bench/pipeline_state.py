"""How many correlation ids a second sagas and gatherings are moved for, in a stream from files to nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pointsman.bench.pipeline_rows import GATHERINGS, SAGAS, StateRow
from pointsman.bench.pipeline_stream import watch, write_batch
from pointsman.bench.processes import cpu_between, cpu_seconds
from pointsman.pipeline.correlation.stream import BUCKETS, follow
from pointsman.table.routing_table import RoutingTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAGA_TABLE = {
    "sagas": {
        "order": {
            "starts": [{"on": "orders.created", "to": "paying", "send": ["payments.reserve"]}],
            "states": {
                "paying": {
                    "edges": [{"on": "payments.reserved", "to": "paid", "undo": ["payments.release"]}],
                    "timeout": {"after": 3600, "to": "paid"},
                },
                "paid": {"final": True},
            },
        }
    }
}
TARGETS = ("supplier-1", "supplier-2")
GATHER_TABLE = {
    "destinations": dict.fromkeys(TARGETS),
    "routes": [
        {
            "name": "best-price",
            "pattern": "prices.ask",
            "strategy": "scatter-gather",
            "gather": {"timeout": 3600, "aggregation": "min", "field": "price", "answers": "prices.answer"},
            "destinations": list(TARGETS),
        }
    ],
}
Event = tuple[str, str, str, dict[str, str], bytes]
"""Its id, subject, correlation id, metadata and body."""


class Work(NamedTuple):
    """What is moved: each batch begins the things that the next one ends."""

    table: RoutingTable
    begin: Callable[[int], list[Event]]
    """The messages that begin the thing of this number."""
    end: Callable[[int], list[Event]]


class StatePlan(NamedTuple):
    """How much is moved."""

    keys: int
    """Correlation ids in a batch."""
    batches: int
    buckets: int = BUCKETS


def begin_saga(number: int) -> list[Event]:
    """An order is made."""
    body = f'{{"amount": {number}}}'.encode()
    return [(f"created-{number}", "orders.created", f"order-{number}", {}, body)]


def end_saga(number: int) -> list[Event]:
    """It is paid."""
    body = f'{{"amount": {number}}}'.encode()
    return [(f"reserved-{number}", "payments.reserved", f"order-{number}", {}, body)]


def begin_gathering(number: int) -> list[Event]:
    """A price is asked for."""
    return [(f"ask-{number}", "prices.ask", f"order-{number}", {"reply-to": "prices.best"}, b'{"item": 7}')]


def end_gathering(number: int) -> list[Event]:
    """All who were asked answer."""
    return [
        (f"{target}-{number}", "prices.answer", f"order-{number}", {"target": target}, b'{"price": %d}' % (number % 97))
        for target in TARGETS
    ]


def works() -> dict[str, Work]:
    """What there is to be moved, by its name."""
    return {
        SAGAS: Work(RoutingTable.from_plain(SAGA_TABLE), begin_saga, end_saga),
        GATHERINGS: Work(RoutingTable.from_plain(GATHER_TABLE), begin_gathering, end_gathering),
    }


def run_state(spark: SparkSession, what: str, folder: Path, plan: StatePlan) -> StateRow:
    """Half of the correlation ids of a batch begin, and half of them end; at least two batches are needed.

    Writes the events and the checkpoint into the folder, which must not exist, and leaves them there.
    """
    work = works()[what]
    source = folder / "source"
    source.mkdir(parents=True)
    events = 0
    for batch in range(plan.batches):
        rows = [*_events(work, batch, plan.keys // 2)]
        events = len(rows)
        write_batch(source, batch, _table(rows))
    schema = "id string, subject string, correlation_id string, metadata map<string,string>, body binary"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    spent = [cpu_seconds()]
    made = follow(stream, work.table, buckets=plan.buckets)
    batches = watch(made, folder / "checkpoint", lambda: spent.append(cpu_seconds()))
    seconds = tuple(seconds for seconds, _ in batches)
    cpu = [passed for before, after in pairwise(spent[1:]) if (passed := cpu_between(before, after)) is not None]
    keys = 2 * (plan.keys // 2)
    return StateRow(what, keys, events, plan.buckets, seconds, keys / min(seconds[1:]), min(cpu, default=None))


def _events(work: Work, batch: int, half: int) -> Iterator[Event]:
    for number in range((batch + 1) * half, (batch + 2) * half):
        yield from work.begin(number)
    if batch:
        for number in range(batch * half, (batch + 1) * half):
            yield from work.end(number)


def _table(rows: list[Event]) -> object:
    import pyarrow as pa

    ids, subjects, correlations, metadata, bodies = zip(*rows, strict=True)
    return pa.table(
        {
            "id": ids,
            "subject": subjects,
            "correlation_id": correlations,
            "metadata": pa.array([[*each.items()] for each in metadata], pa.map_(pa.string(), pa.string())),
            "body": pa.array(bodies, pa.binary()),
        }
    )
