"""The high-water mark: a small file beside the database that says how much was committed.

A flipped bit in SQLite's write-ahead log makes SQLite forget, without a word, every transaction after it. The mark is
written after each commit, so that more in the mark than in the database means that something was lost. It is not synced
by itself: after a loss of power it can be behind, never ahead.

The same file tells those who commit that somebody has begun to wait (see ``bell.py``): it is mapped into the memory of
every process that has the database open.
"""

from __future__ import annotations

import os
import struct
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

FORMAT = struct.Struct("<qqq")
"""The two numbers of the mark, and both together with the pattern below: a change of any one bit is noticed."""
PATTERN = 0x706F696E74736D61
WAITING = slice(24, 32)
"""Where it is said who waits."""
SIZE = 32


class Mark(NamedTuple):
    """How many transactions were committed, and the number of the last message."""

    commits: int
    sequence: int


class MarkFile:
    """The file of the mark, mapped into memory; thread-safe as far as a single write is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            if size < SIZE:
                # Written, so that there is room for it on the disk whatever comes.
                os.pwrite(descriptor, bytes(SIZE - size), size)
            self._map = mmap(descriptor, SIZE)
        finally:
            os.close(descriptor)
        self.waiting = memoryview(self._map)[WAITING]
        """Other bytes whenever somebody has begun to wait."""

    def read(self) -> Mark | None:
        """The mark; None if the file is new, or torn, which says nothing."""
        return parse_mark(self._map[:])

    def write(self, commits: int, sequence: int) -> None:
        """Puts a new mark in the place of the old one."""
        FORMAT.pack_into(self._map, 0, commits, sequence, commits ^ sequence ^ PATTERN)

    def announce(self) -> None:
        """Somebody has begun to wait."""
        self.waiting[:] = os.urandom(8)

    def close(self) -> None:
        """Closes the file."""
        self.waiting.release()
        self._map.close()


def mark_path(database: str | Path) -> Path:
    """Where the mark of a database is."""
    return Path(f"{database}-mark")


def parse_mark(data: bytes) -> Mark | None:
    """The mark that these bytes are; None if they are none."""
    if len(data) < FORMAT.size:
        return None
    commits, sequence, both = FORMAT.unpack_from(data)
    return Mark(commits, sequence) if both == commits ^ sequence ^ PATTERN else None
