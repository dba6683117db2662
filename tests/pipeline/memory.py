"""Large inputs at Spark's small heap and at the default one: whether ``pointsman run`` ends, and what it holds.

    python -m tests.pipeline.memory [--only TEXT]

Each input is run with ``spark.driver.memory: 1g`` and at default settings. It prints how long that took, the largest
resident memory of a Python worker and of Java, and exits 1 if a run failed or lost a message.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.pipeline import shop

HEAPS = ("1g", None)
"""None is the default."""
LOOK = 0.2
"""Seconds between two looks at what processes hold."""
MILLION = 1_000_000


class Held(NamedTuple):
    """What came of a run."""

    code: int
    said: str
    messages: int
    seconds: float
    worker: int
    """The most that a Python process below the driver held, in MB."""
    java: int


class Input(NamedTuple):
    """Messages in files."""

    name: str
    messages: int
    write: Callable[[Path], None]
    form: str = "parquet"


def folder(count: int) -> Callable[[Path], None]:
    """Messages of 250 bytes in files of a quarter of a million."""

    def write(path: Path) -> None:
        for number in range(count // 250_000):
            shop.write(shop.messages(250_000, seed=number), path / str(number), "parquet", 1)

    return write


def one_group(count: int, size: int = 0) -> Callable[[Path], None]:
    """All in one row group of one file of Parquet; bodies of ``size`` bytes, or as they are."""

    def write(path: Path) -> None:
        path.mkdir()
        made = large(count, size) if size else shop.messages(count)
        pq.write_table(made, path / "one.parquet", row_group_size=count)

    return write


def lines(count: int, size: int) -> Callable[[Path], None]:
    """Messages as JSON lines in one file."""
    return lambda path: shop.write(large(count, size), path, "json", 1)


def large(count: int, size: int) -> pa.Table:
    """Messages with bodies of so many bytes, which do not compress well."""
    source = np.random.default_rng(5)
    notes = source.integers(97, 123, size=(64, size), dtype=np.uint8)
    bodies = [b'{"amount": %d, "note": "%s"}' % (row % 3000, bytes(notes[row % 64])) for row in range(count)]
    made = shop.messages(count)
    return made.set_column(made.column_names.index("body"), "body", pa.array(bodies, pa.binary()))


INPUTS = (
    Input("1,000,000 of 250 bytes", MILLION, folder(MILLION)),
    Input("5,000,000 of 250 bytes", 5 * MILLION, folder(5 * MILLION)),
    Input("1,000,000 of 250 bytes, one row group", MILLION, one_group(MILLION)),
    Input("5,000,000 of 250 bytes, one row group", 5 * MILLION, one_group(5 * MILLION)),
    Input("20,000 of 30 KB, one row group", 20_000, one_group(20_000, 30_000)),
    Input("20,000 of 30 KB, JSON lines", 20_000, lines(20_000, 30_000), "json"),
    Input("5,000 of 100 KB, one row group", 5_000, one_group(5_000, 100_000)),
    Input("5,000 of 100 KB, JSON lines", 5_000, lines(5_000, 100_000), "json"),
)


def run(source: Path, form: str, place: Path, heap: str | None) -> Held:
    """``pointsman run`` over a source, in a process of its own, watched."""
    place.mkdir()
    (place / "table.yaml").write_text(json.dumps(shop.plain(9)))
    written: dict[str, Any] = {"table": "table.yaml", "source": {"format": form, "path": str(source)}}
    # Files may lie one folder down.
    written["source"]["options"] = {"recursiveFileLookup": "true"}
    written |= {"format": "parquet", "master": "local[2]"}
    if heap is not None:
        written["spark"] = {"spark.driver.memory": heap}
    (place / "pipeline.yaml").write_text(json.dumps(written))
    began = time.monotonic()
    words = [sys.executable, "-m", "pointsman", "run", "--json", str(place / "pipeline.yaml")]
    most: Counter[str] = Counter()
    with (place / "said").open("w+") as said, (place / "told").open("w+") as told:
        process = subprocess.Popen(words, stdout=told, stderr=said)
        while process.poll() is None:
            for kind, held in below(process.pid):
                most[kind] = max(most[kind], held)
            time.sleep(LOOK)
        said.seek(0)
        told.seek(0)
        events = [json.loads(line) for line in told if line.startswith("{")]
        seconds = time.monotonic() - began
        totals = [event["totals"]["messages"] for event in events if event.get("event") == "batch"]
        return Held(process.returncode, said.read(), max(totals, default=0), seconds, most["python"], most["java"])


def below(pid: int) -> Iterator[tuple[str, int]]:
    """The resident memory, in MB, of the processes below one: those of Java and of Python."""
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(status.parent.name))
    waiting = list(parents.get(pid, ()))
    while waiting:
        child = waiting.pop()
        waiting += parents.get(child, ())
        try:
            name = Path(f"/proc/{child}/comm").read_text()
            pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
        except OSError:
            continue
        # A process that Java is about to start is named as the thread, and has the memory of Java until it begins.
        for kind in ("java", "python"):
            if name.startswith(kind):
                yield kind, pages * 4096 >> 20


def main() -> int:
    """1 if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="inputs whose name has this")
    chosen = parser.parse_args()
    failed = 0
    print("| input | heap | seconds | messages a second | Python worker | Java | |\n|---|---|---|---|---|---|---|")
    with TemporaryDirectory(prefix="pointsman-memory-") as name:
        for number, each in enumerate(each for each in INPUTS if chosen.only in each.name):
            source = Path(name, f"source-{number}")
            each.write(source)
            for heap in HEAPS:
                held = run(source, each.form, Path(name, f"run-{number}-{heap}"), heap)
                ok = held.code == 0 and held.messages == each.messages
                failed += not ok
                rate = f"{each.messages / held.seconds:,.0f}"
                end = "ends" if ok else f"FAILS: exit {held.code}, {held.messages:,} messages, {held.said[-300:]!r}"
                row = (
                    each.name,
                    heap or "default",
                    f"{held.seconds:.0f}",
                    rate,
                    f"{held.worker} MB",
                    f"{held.java} MB",
                )
                print("|", " | ".join(row), "|", end, "|", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
