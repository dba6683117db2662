"""What the files of the benchmark are on, and how long that takes to have something for good."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from tempfile import NamedTemporaryFile
from time import perf_counter

from pointsman.bench.queue_rows import Disk

MOUNTS = Path("/proc/self/mounts")
SYNCS = 100
PAGE = b"x" * 4096


def look(directory: Path, mounts: Path = MOUNTS) -> Disk:
    """The file system of a directory, and the time of a write of 4 KiB with its ``fdatasync`` there."""
    return Disk(file_system(directory, mounts), median(_sync_times(directory)) * 1000)


def file_system(directory: Path, mounts: Path = MOUNTS) -> str:
    """The type of the file system, as Linux says; ``unknown`` elsewhere."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return "unknown"
    found = {Path(point.replace("\\040", " ")): kind for _, point, kind, *_ in map(str.split, lines)}
    resolved = directory.resolve()
    return next((found[parent] for parent in (resolved, *resolved.parents) if parent in found), "unknown")


def _sync_times(directory: Path) -> list[float]:
    # Some systems have no fdatasync; what they have does more.
    sync = getattr(os, "fdatasync", os.fsync)
    times = []
    with NamedTemporaryFile(dir=directory) as file:
        for _ in range(SYNCS):
            started = perf_counter()
            os.write(file.fileno(), PAGE)
            sync(file.fileno())
            times.append(perf_counter() - started)
    return times
