"""The high-water mark: a small file beside the database that says how much was committed.

A flipped bit in SQLite's write-ahead log makes SQLite forget, without a word, every transaction after it. The mark is
written after each commit, so that more in the mark than in the database means that something was lost. It is not synced
by itself: after a loss of power it can be behind, never ahead.
"""

from __future__ import annotations

import os
import struct
import zlib
from mmap import mmap
from pathlib import Path
from typing import NamedTuple

FORMAT = struct.Struct("<8sqqI")
MAGIC = b"ptsmark1"


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
            if os.fstat(descriptor).st_size < FORMAT.size:
                # Written, so that there is room for it on the disk whatever comes.
                os.pwrite(descriptor, bytes(FORMAT.size), 0)
            self._map = mmap(descriptor, FORMAT.size)
        finally:
            os.close(descriptor)

    def read(self) -> Mark | None:
        """The mark; None if the file is new, or torn, which says nothing."""
        return parse_mark(self._map[:])

    def write(self, mark: Mark) -> None:
        """Puts a new mark in the place of the old one."""
        FORMAT.pack_into(self._map, 0, MAGIC, mark.commits, mark.sequence, _checksum(mark))

    def close(self) -> None:
        """Closes the file."""
        self._map.close()


def mark_path(database: str | Path) -> Path:
    """Where the mark of a database is."""
    return Path(f"{database}-mark")


def parse_mark(data: bytes) -> Mark | None:
    """The mark that these bytes are; None if they are none."""
    if len(data) != FORMAT.size:
        return None
    magic, commits, sequence, checksum = FORMAT.unpack(data)
    mark = Mark(commits, sequence)
    return mark if magic == MAGIC and checksum == _checksum(mark) else None


def _checksum(mark: Mark) -> int:
    return zlib.crc32(b"%d %d" % mark)
