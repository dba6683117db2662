"""The live form of the benchmark of wildcard subscriptions: stored in a file, resolved one message at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pointsman.bench.processes import descendants
from pointsman.bench.subscriptions_data import SUBJECT
from pointsman.bench.subscriptions_rows import LIVE, Row
from pointsman.bench.terms_data import Message
from pointsman.store.queue import Queue
from pointsman.subscriptions.files import import_file
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.resolver import PAGE, Resolver

ROWS = 50_000


def measure_live(table: Any, messages: Sequence[Message], folder: Path, progress: Callable[[str], object]) -> Row:
    """Stores the subscriptions, loads their matchers, and resolves the messages; the first of them once before.

    The build is the loading alone, as at the start of a broker: the subscriptions are in the file already.
    """
    size = table.num_rows
    with Queue(folder / "queue.db") as queue:
        progress(f"{size:,} subscriptions: storing them")
        write_subscriptions(table, folder / "live.parquet")
        import_file(Registry(queue.store), folder / "live.parquet")
        progress(f"{size:,} subscriptions: {LIVE}, {len(messages):,} messages")
        live = LiveSubscriptions(queue.store)
        before, started = _resident(), process_time()
        with live.reading() as resolver:
            built = process_time() - started
            held = _resident() - before
            _count(resolver, messages[: len(messages) // 10])
            started = process_time()
            matches = _count(resolver, messages)
            seconds = process_time() - started
        live.close()
    return Row(LIVE, size, len(messages), matches, seconds, built, held)


def _count(resolver: Resolver, messages: Sequence[Message]) -> int:
    """How many subscriptions the messages reach, in pages."""
    total = 0
    for number, message in enumerate(messages):
        resolved = resolver.resolve(str(number), SUBJECT, dict(message))
        after = 0
        while page := resolver.matches(resolved, PAGE, after):
            total += len(page)
            after = page[-1].number
        resolver.forget(resolved)
    return total


def write_subscriptions(table: Any, path: Path) -> None:
    """The subscriptions as a file to import: all of one owner, with one destination."""
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("owner", pa.string()),
            ("destinations", pa.list_(pa.string())),
            ("condition", pa.string()),
        ]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for batch in table.to_batches(ROWS):
            count = batch.num_rows
            columns = [
                pa.array([f"s{number}" for number in batch["subscription_id"].to_pylist()]),
                pa.array(["owner"] * count),
                pa.array([["store"]] * count, pa.list_(pa.string())),
                pa.array([json.dumps(each) for each in _conditions(batch)]),
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _conditions(batch: Any) -> Iterator[dict[str, Any]]:
    for includes, excludes in zip(batch["includes"].to_pylist(), batch["excludes"].to_pylist(), strict=True):
        yield {"includes": includes} | ({"excludes": excludes} if excludes["matchers"] else {})


def _resident() -> int:
    """Bytes that this process holds; 0 where the system does not tell."""
    found = descendants(os.getpid())
    return int(found[0].megabytes * 1e6) if found else 0
