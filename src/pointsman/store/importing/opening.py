"""Opening another program's database to read it, without leaving a trace.

SQLite makes files beside a database in WAL mode even for a connection that only reads. Which way avoids that depends on
what lies there already:

    a log that is in use       the program is running: its index is opened to be read only, and SQLite's locks hold
    a log that nobody uses     the program was killed: an index of our own is kept in memory, and nothing is locked
    no log                     all is in the database: read it as a file that does not change, and nothing is locked
    a rollback journal's mode  SQLite's own locks hold, and it makes no files

Where nothing is locked, ``Opened.check`` tells whether somebody has written meanwhile. As the system drops the locks
that a process has on a file when that process closes it anywhere, a process must not open what it uses itself.
"""

from __future__ import annotations

import fcntl
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from pointsman.errors import StoreError
from pointsman.store.importing import statements

MAGIC = b"SQLite format 3\0"
HEADER = 100
WAL_MODE = 2
"""What the header of a database in WAL mode has as the version of its format."""
FLAGS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
USERS = 128
"""The byte of a log's index that SQLite locks for as long as it uses the log."""
FLOCK = "@hhqqi4x"
"""How the system takes a question about a lock: kind, from where, start, length, process."""
Stamp = tuple[int, ...]


class Opened(NamedTuple):
    """A database that is read, in one transaction."""

    connection: apsw.Connection
    path: Path
    file: str
    """Tells the file from every other on this machine, by any name that it has."""
    stamp: Stamp | None
    """What the files were like when they were opened; None where a lock keeps them so."""

    def check(self) -> None:
        """Raises ``StoreError`` (``source-changed``) when somebody wrote to a database that is read without a lock."""
        if self.stamp is not None and self.stamp != _stamp(self.path):
            raise StoreError("source-changed", "somebody has written to it while it was read", file=str(self.path))


@contextmanager
def opened(path: Path, busy_timeout: float = 10.0) -> Iterator[Opened]:
    """The database of another program, to be read only.

    Raises ``StoreError``: ``no-file``, ``source-not-queue`` for what is no database, ``source-damaged`` and
    ``source-locked``; what SQLite raises within the block becomes one of these, too.
    """
    header = _header(path)
    # SQLite looks for the log beside the file itself, not beside a link to it.
    log = Path(f"{path.resolve()}-wal")
    name = f"file:{quote(str(path.resolve()))}?mode=ro"
    with _explained(path):
        if log.exists():
            unlocked = not _is_used(Path(f"{path.resolve()}-shm"))
            connection = apsw.Connection(name if unlocked else f"{name}&readonly_shm=1", FLAGS, _vfs(unlocked))
        else:
            unlocked = WAL_MODE in header[18:20]
            _check_whole(path, header)
            connection = apsw.Connection(f"{name}&immutable=1" if unlocked else name, FLAGS)
        try:
            connection.set_busy_timeout(int(busy_timeout * 1000))
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            if unlocked:
                connection.execute(statements.SOURCE_EXCLUSIVE)
            stamp = _stamp(path) if unlocked else None
            connection.execute(statements.SOURCE_BEGIN)
            about = path.stat()
            yield Opened(connection, path, f"{about.st_dev}:{about.st_ino}", stamp)
        finally:
            connection.close()


def _is_used(index: Path) -> bool:
    """Whether another process holds the lock that each user of a log's index has."""
    if not index.exists():
        return False
    with index.open("rb") as file:
        asked = struct.pack(FLOCK, fcntl.F_WRLCK, 0, USERS, 1, 0)
        answer = fcntl.fcntl(file, fcntl.F_GETLK, asked)
    return bool(struct.unpack(FLOCK, answer)[0] != fcntl.F_UNLCK)


def _vfs(unlocked: bool) -> str | None:
    return "unix-none" if unlocked else None


def _header(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # To open a pipe would wait for somebody who writes into it.
            raise StoreError("no-file", "it is no regular file", file=str(path))
        with path.open("rb") as file:
            header = file.read(HEADER)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError("no-file", f"it cannot be read: {error.strerror}", file=str(path)) from error
    if header[: len(MAGIC)] != MAGIC:
        raise StoreError("source-not-queue", "it is no SQLite database", file=str(path))
    if len(header) < HEADER:
        raise StoreError("source-damaged", f"it ends after {len(header)} bytes", file=str(path))
    return header


def _check_whole(path: Path, header: bytes) -> None:
    """Raises when the file is shorter than it says that it is, of which SQLite speaks only when it gets there."""
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    whole, size = pages * (65_536 if page == 1 else page), path.stat().st_size
    said_now = header[24:28] == header[92:96]
    if said_now and size < whole:
        raise StoreError("source-damaged", f"it is cut off: {size:,} bytes are left of {whole:,}", file=str(path))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _stamp(path: Path) -> Stamp:
    log = Path(f"{path.resolve()}-wal")
    about = path.stat()
    return about.st_size, about.st_mtime_ns, _size(log), log.stat().st_mtime_ns if _size(log) else 0


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turns what SQLite says of the source into ``StoreError``."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreError("source-locked", f"SQLite says: {error}", file=str(path)) from error
    except apsw.ReadOnlyError as error:
        # A program died in the midst of a change, and undoing that would be to write.
        raise StoreError("source-locked", "a change of it was begun and not ended", file=str(path)) from error
    except apsw.Error as error:
        raise StoreError("source-damaged", f"SQLite says: {error}", file=str(path)) from error
