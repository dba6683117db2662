"""Compiles the code of matching and of imports into numba's cache, where the many processes of the tests find it.

Takes a minute the first time, and some seconds when nothing changed.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pointsman import CompiledIndex, Queue
from pointsman.bench.subscriptions_data import make_data
from pointsman.bench.subscriptions_live import write_subscriptions
from pointsman.subscriptions.columns import SubscriptionIndex
from pointsman.subscriptions.files import export_file, import_file
from pointsman.subscriptions.registry import Registry

PATTERNS = {"nats": ["a.*", "a.>"], "amqp": ["a.#"], "zato": ["a*b.**"], "mqtt": ["a/+"]}
SUBJECTS = ["a.b", None]
SUBSCRIPTIONS = 40_000
"""Their files are large enough to be read by compiled code."""


def compile_matching() -> None:
    """Builds a small index and asks it in every way."""
    index = CompiledIndex.build(PATTERNS)
    index.match(SUBJECTS)
    index.count(SUBJECTS)
    index.first(SUBJECTS, range(len(index)))
    list(index.match_batches(SUBJECTS))


def compile_subscriptions() -> None:
    """Resolves some messages, and imports files of both formats."""
    data = make_data(SUBSCRIPTIONS, 100)
    SubscriptionIndex.build(data.table).match(None, data.metadata)
    with TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("all.parquet", "all.jsonl")]
        write_subscriptions(data.table, files[0])
        for file in files:
            with Queue(":memory:") as queue:
                registry = Registry(queue.store)
                import_file(registry, file)
                export_file(registry, files[1])


if __name__ == "__main__":
    compile_matching()
    compile_subscriptions()
