"""What a worker did, in a file of its own that outlives it.

A line is written with one call, and only processes die here, never the machine: what was written is there. A line that
has no end was being written when the worker was killed, and is no line.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Line(NamedTuple):
    """One line: what was done, and with what."""

    worker: str
    word: str
    fields: list[Any]


class Journal:
    """Where one worker writes; safe between its threads."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, word: str, *fields: Any) -> None:
        """Adds a line."""
        os.write(self._descriptor, json.dumps([word, *fields], ensure_ascii=False).encode() + b"\n")

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)


def end_with_parent() -> None:
    """Ends this process when the one that started it has ended, and with it the other end of the input."""

    def wait() -> None:
        os.read(0, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def read_journal(path: Path) -> Iterator[Line]:
    """The lines of one worker."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                word, *fields = json.loads(line)
                yield Line(path.stem, word, fields)


def read_journals(folder: Path) -> Iterator[Line]:
    """The lines of all workers."""
    for path in sorted(folder.glob("*.journal")):
        yield from read_journal(path)
