"""Room in SQLite's log ahead of what is written there.

To sync a file that has grown, a disk has to note its new length as well, and takes about twice as long. So the log of a
queue is made longer in pieces, of zeros, before it is written to; SQLite reads no further than the frames that it
wrote. Once the log is as long as it gets before SQLite begins it anew, nothing more is to be done, and nobody looks.
"""

from __future__ import annotations

import os
from contextlib import suppress

import apsw

CHECKPOINT = 4000
"""Pages in the log at which they are copied into the database, and the log is begun anew; as in ``PRAGMAS``."""
LEAST, MOST = 1 << 16, 1 << 20
"""Bytes of one piece: as many as the log has, between these."""
AHEAD = 8
"""Pages that a small transaction may write; with less room than this ahead, more is made."""
FRAME_HEADER, LOG_HEADER = 24, 32


class Room:
    """The room in the log that one connection writes."""

    def __init__(self, connection: apsw.Connection, path: str) -> None:
        self._path = f"{path}-wal"
        self.watch(connection)

    def watch(self, connection: apsw.Connection) -> None:
        """Follows what this connection commits, and copies the log into the database as SQLite itself would."""
        self._connection = connection
        self._frame = FRAME_HEADER + int(connection.pragma("page_size"))
        self._size = self._used = 0
        self.is_needed = False
        """Whether ``make`` is to be called before the next transaction."""
        connection.set_wal_hook(self._committed)

    def make(self) -> None:
        """Makes the log longer; only with the lock for writing held, and nothing written yet.

        A disk that is full is no failure here: the transaction will find that out.
        """
        self.is_needed = False
        with suppress(OSError):
            descriptor = os.open(self._path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                if size < self._used:
                    size += os.pwrite(descriptor, bytes(min(max(size, LEAST), MOST)), size)
                self._size = size
            finally:
                os.close(descriptor)
        if self._size >= LOG_HEADER + (CHECKPOINT + AHEAD) * self._frame:
            # To be called after each commit would take longer than the rest of what a commit does in Python.
            self._connection.set_wal_hook(None)
            self._connection.wal_autocheckpoint(CHECKPOINT)

    def _committed(self, connection: apsw.Connection, name: str, pages: int) -> int:
        if pages >= CHECKPOINT:
            with suppress(apsw.Error):
                connection.wal_checkpoint(name, apsw.SQLITE_CHECKPOINT_PASSIVE)
        else:
            self._used = LOG_HEADER + (pages + AHEAD) * self._frame
            self.is_needed = self._used > self._size
        return apsw.SQLITE_OK
