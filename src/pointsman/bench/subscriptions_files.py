"""Files of wildcard subscriptions: how many a second are exported from a queue's file, and imported into a new one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from pointsman.bench.queue_rows import AsDict
from pointsman.store.queue import Queue
from pointsman.subscriptions.files import export_file, import_file
from pointsman.subscriptions.registry import Registry

FORMS = {"JSON Lines": "jsonl", "Parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class FileRow(AsDict):
    """How fast a format was with so many subscriptions, by the wall clock."""

    form: str
    subscriptions: int
    export_seconds: float
    import_seconds: float
    """Until all are committed, in one transaction."""

    @property
    def exported_per_second(self) -> float:
        """The rate."""
        return self.subscriptions / self.export_seconds

    @property
    def imported_per_second(self) -> float:
        """The rate."""
        return self.subscriptions / self.import_seconds


def measure_files(queue_file: Path, folder: Path) -> Iterator[FileRow]:
    """Exports what is in a queue's file, and imports it into new ones; in a process that holds nothing else."""
    for form, ending in FORMS.items():
        # It is this very module.
        command = [sys.executable, "-m", __name__, str(queue_file), str(folder / f"all.{ending}"), form]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        yield FileRow(**json.loads(told))


def out_and_in(queue_file: Path, path: Path, form: str) -> FileRow:
    """Exports to this file, and imports from it."""
    with Queue(queue_file) as queue:
        started = perf_counter()
        count = export_file(Registry(queue.store), path)
        exported = perf_counter() - started
    with Queue(path.with_suffix(f"{path.suffix}.db")) as queue:
        started = perf_counter()
        import_file(Registry(queue.store), path)
        return FileRow(form, count, exported, perf_counter() - started)


if __name__ == "__main__":
    print(json.dumps(out_and_in(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]).as_dict()))
