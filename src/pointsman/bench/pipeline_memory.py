"""A local run of many messages with a small driver: whether memory stays where it is.

The command is the one that users run, ``pointsman run``, in a process of its own, with ``spark.driver.memory`` set.
What its processes hold is read from outside while it works.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

import numpy as np

from pointsman.bench.pipeline_data import DIALECT, message_table
from pointsman.bench.pipeline_stream import write_batch
from pointsman.bench.processes import Process, descendants
from pointsman.bench.queue_rows import AsDict
from pointsman.bench.required import Required
from pointsman.bench.subjects import streams
from pointsman.errors import InputError

Progress = Callable[[str], object]
BATCH = 250_000
BATCHES = 10
"""At the least, so that there is something to compare."""
HEAP = "2g"
FULL, QUICK = 10_000_000, 200_000
PLANTS = 4
"""Whose messages go to a destination each."""
GROWTH = 1.25
"""How much more a worker may hold in the second half than in the first."""
EVERY = 1.0
"""Seconds between two looks."""


class Look(NamedTuple):
    """What the processes held at a time, in megabytes."""

    messages: int
    """Delivered so far."""
    java: float
    driver: float
    workers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MemoryRow(AsDict):
    """The most that was held while a tenth of the messages was delivered, in megabytes."""

    messages: int
    """Delivered when it began."""
    java: float
    driver: float
    largest_worker: float
    workers: int


def run(messages: int, progress: Progress = lambda _: None) -> dict[str, Sequence[Any]]:
    """The measurements; files are made among temporary ones, some 1 GB for a million messages, and deleted at the end.

    Raises ``InputError`` (``query-failed``) when the run fails or loses a message.
    """
    with TemporaryDirectory(prefix="pointsman-memory-") as name:
        folder = Path(name)
        write_messages(folder / "source", messages, progress)
        started = monotonic()
        looks = _watch(_pipeline(folder), messages, progress)
        seconds = monotonic() - started
    rows = tenths(looks, messages)
    return {"rows": rows, "required": required(looks), "seconds": [Seconds(messages, seconds, HEAP)]}


@dataclass(frozen=True, slots=True)
class Seconds(AsDict):
    """How long it took, the start of Spark included."""

    messages: int
    seconds: float
    heap: str


def tenths(looks: Sequence[Look], messages: int) -> list[MemoryRow]:
    """A row for each tenth of the messages in which somebody looked."""
    found: dict[int, list[Look]] = {}
    for look in looks:
        found.setdefault(min(look.messages * 10 // messages, 9), []).append(look)
    return [
        MemoryRow(
            tenth * messages // 10,
            max(look.java for look in own),
            max(look.driver for look in own),
            max((worker for look in own for worker in look.workers), default=0.0),
            max(len(look.workers) for look in own),
        )
        for tenth, own in sorted(found.items())
    ]


def required(looks: Sequence[Look]) -> list[Required]:
    """That the workers are flat: what the largest holds in the second half, beside the first half after its start."""
    middle = max((look.messages for look in looks), default=0) / 2
    early = [max(look.workers) for look in looks if look.workers and 0 < look.messages <= middle]
    late = [max(look.workers) for look in looks if look.workers and look.messages > middle]
    if not early or not late:
        return []
    what = "the largest Python worker: times what it held in the first half"
    return [Required(what, max(late) / max(early), GROWTH, False)]


def write_messages(source: Path, messages: int, progress: Progress) -> None:
    """Files of messages, each for a batch; subjects come again after a million."""
    import pyarrow as pa

    source.mkdir(parents=True)
    subjects = streams(min(messages, 1_000_000)).repeated
    batch = min(BATCH, -(-messages // BATCHES))
    for number, first in enumerate(range(0, messages, batch)):
        progress(f"making messages: {first:,} of {messages:,}")
        chosen = np.arange(first, min(first + batch, messages)) % len(subjects)
        write_batch(source, number, message_table(subjects.take(pa.array(chosen)), first))


def _pipeline(folder: Path) -> Path:
    """The file of the pipeline, and its table."""
    routes = [
        {"name": f"plant-{number}", "pattern": f"plant{number}/#", "destinations": [f"store-{number}"]}
        for number in range(PLANTS)
    ]
    table = {"dialect": DIALECT, "destinations": {f"store-{n}": None for n in range(PLANTS)}, "routes": routes}
    (folder / "table.yaml").write_text(json.dumps(table))
    pipeline = {
        "table": "table.yaml",
        "source": {"format": "parquet", "path": "source", "options": {"maxFilesPerTrigger": 1}},
        "format": "parquet",
        "master": "local[2]",
        "spark": {"spark.driver.memory": HEAP, "spark.sql.streaming.schemaInference": True},
    }
    path = folder / "pipeline.yaml"
    path.write_text(json.dumps(pipeline))
    return path


def _watch(pipeline: Path, messages: int, progress: Progress) -> list[Look]:
    """Runs the pipeline, and looks at its processes until it ends."""
    command = [sys.executable, "-m", "pointsman", "run", str(pipeline), "--json"]
    errors = pipeline.with_suffix(".errors")
    looks: list[Look] = []
    done = [0]
    with (
        errors.open("w") as sink,
        # It is this very program.
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sink, text=True) as process,
    ):
        reader = Thread(target=_read, args=(process.stdout, done), daemon=True)
        reader.start()
        while process.poll() is None:
            looks.append(look_at(descendants(process.pid), done[0]))
            progress(f"{done[0]:,} of {messages:,} messages")
            sleep(EVERY)
        reader.join()
    if process.returncode or done[0] != messages:
        told = errors.read_text().strip().splitlines()[-1:]
        problem = f"the run ended with {process.returncode} after {done[0]:,} of {messages:,} messages"
        raise InputError("query-failed", ": ".join([problem, *told]))
    return looks


def _read(lines: Any, done: list[int]) -> None:
    for line in lines:
        done[0] = int(json.loads(line).get("messages", done[0]))


def look_at(found: Sequence[Process], messages: int) -> Look:
    """What these processes hold; the first one is the driver, and Java's children are the daemon and its workers."""
    java = sum(process.megabytes for process in found if process.name == "java")
    daemons = {process.number for process in found if process.parent in _numbers(found, "java")}
    workers = tuple(process.megabytes for process in found if process.parent in daemons)
    return Look(messages, java, found[0].megabytes if found else 0.0, workers)


def _numbers(found: Sequence[Process], name: str) -> set[int]:
    return {process.number for process in found if process.name == name}
