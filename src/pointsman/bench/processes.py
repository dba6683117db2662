"""What this process and all that it started have taken and hold, as far as the system tells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Process(NamedTuple):
    """A process as ``/proc`` shows it."""

    number: int
    parent: int
    name: str
    ticks: int
    """Of CPU time: its own and that of its children which have ended."""
    pages: int
    """Of memory that are resident."""

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        return self.pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def descendants(root: int, proc: Path = PROC) -> list[Process]:
    """The process of this number and all that it started and that started from those; empty without ``/proc``."""
    known = {process.number: process for process in _processes(proc)}
    found = [known[root]] if root in known else []
    for parent in found:
        found += [process for process in known.values() if process.parent == parent.number]
    return found


def cpu_seconds(proc: Path = PROC) -> float | None:
    """The CPU time of this process and all that it started; None where it cannot be read."""
    found = descendants(os.getpid(), proc)
    return sum(process.ticks for process in found) / os.sysconf("SC_CLK_TCK") if found else None


def cpu_between(before: float | None, after: float | None) -> float | None:
    """The CPU time that passed between two answers; None if it is not known.

    It is not where it seems to have gone backwards: a process has ended of which nobody took the time over.
    """
    return None if before is None or after is None or after < before else after - before


def _processes(proc: Path) -> Iterator[Process]:
    for folder in proc.glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            # It has ended meanwhile.
            continue
        # The name stands in parentheses and may hold anything.
        number, _, rest = text.partition(" (")
        name, _, fields = rest.rpartition(") ")
        values = fields.split()
        yield Process(int(number), int(values[1]), name, sum(map(int, values[11:15])), int(values[21]))
