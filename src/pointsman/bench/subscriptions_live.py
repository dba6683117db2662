"""The live form of the benchmark of wildcard subscriptions: stored in a file, resolved one message at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pointsman.bench.processes import descendants
from pointsman.bench.subscriptions_data import SUBJECT
from pointsman.bench.subscriptions_rows import LIVE, Row
from pointsman.bench.subscriptions_updates import changes, condition_of, measure_updates
from pointsman.bench.terms_data import Message
from pointsman.store.queue import Queue
from pointsman.subscriptions.files import import_file
from pointsman.subscriptions.live import LiveSubscriptions
from pointsman.subscriptions.registry import Registry
from pointsman.subscriptions.resolver import PAGE, Resolver

ROWS = 50_000
QUEUE = "queue.db"
"""The file with the subscriptions."""
UPDATES = 300
"""Subscriptions that are created, changed and deleted."""


def measure_live(table: Any, messages: Sequence[Message], folder: Path, progress: Callable[[str], object]) -> Row:
    """Stores the subscriptions; a new process loads their matchers, resolves the messages, and takes up changes.

    The build is the loading alone, as at the start of a broker: the subscriptions are in the file already. The bytes
    are what the process holds more after it. What is measured of changes, ``measure_updates`` says.
    """
    size = table.num_rows
    progress(f"{size:,} subscriptions: storing them")
    write_subscriptions(table, folder / "live.parquet")
    with Queue(folder / QUEUE) as queue:
        import_file(Registry(queue.store), folder / "live.parquet")
    progress(f"{size:,} subscriptions: {LIVE}, {len(messages):,} messages")
    (folder / "messages.json").write_text(json.dumps(messages))
    # It is this very module, in a process that holds nothing else.
    command = [sys.executable, "-m", __name__, str(folder / QUEUE), str(folder / "messages.json")]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Row(LIVE, size, len(messages), **json.loads(told))


def resolve_all(queue_file: Path, messages: Sequence[Message]) -> dict[str, float]:
    """Loads the matchers of a file and resolves messages, a tenth of them once before; the rest of a ``Row``.

    After that, subscriptions are made, changed and deleted in the file.
    """
    with Queue(queue_file, durability="normal") as queue:
        live = LiveSubscriptions(queue.store)
        before, started = _resident(), process_time()
        with live.reading() as resolver:
            built, held = process_time() - started, _resident() - before
            _count(resolver, messages[: len(messages) // 10])
            started = process_time()
            matches = _count(resolver, messages)
            seconds = process_time() - started
        with Queue(queue_file, durability="normal") as other:
            # What comes through another connection is as if another process had made it: SQLite forgets what it has
            # read. What the live form's own process changes costs less.
            updates = measure_updates(queue, live, messages, changes(Registry(other.store), UPDATES))
        live.close()
    return {
        "matches": matches,
        "seconds": seconds,
        "build_seconds": built,
        "build_bytes": held,
        "update_median": updates.median,
        "update_p90": updates.p90,
        "update_mean": updates.mean,
    }


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
                pa.array([json.dumps(condition_of(row)) for row in batch.to_pylist()]),
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _resident() -> int:
    """Bytes that this process holds; 0 where the system does not tell."""
    found = descendants(os.getpid())
    return int(found[0].megabytes * 1e6) if found else 0


if __name__ == "__main__":
    print(json.dumps(resolve_all(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_bytes()))))
