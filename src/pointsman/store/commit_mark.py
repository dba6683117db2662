"""The high-water mark: a small file beside the database that says how much was committed.

A flipped bit in SQLite's write-ahead log makes SQLite forget, without a word, every transaction after it. The mark is
written after each commit, so that more in the mark than in the database means that something was lost. It is not synced
by itself: after a loss of power it can be behind, never ahead.

The same file tells those who commit that somebody has begun to wait (see ``wakeup.py``). It is read and written, never
mapped into memory: whoever cuts off a file that is mapped ends every process that has it so.

Files beside a database are made with its mode and owner, and never reached through a link: a name that everybody can
predict may be taken by somebody else, and a link there would have another file overwritten.
"""

from __future__ import annotations

import os
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pointsman.errors import StoreError


def open_side_file(path: Path, database: str | Path) -> int:
    """A descriptor to read and write the file with; it is made if there is none.

    Raises OSError, and ``StoreError`` (``side-file-refused``) for a link of either kind, and for what is no regular
    file.
    """
    while True:
        check_side_file(path)
        try:
            return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            pass
        try:
            return make_side_file(path, database)
        except FileExistsError:
            # Another process has made it meanwhile.
            continue


def make_side_file(path: Path, database: str | Path) -> int:
    """A descriptor of a new file. Raises OSError, FileExistsError also for a link that leads nowhere."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        take_after(descriptor, Path(database).stat())
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_side_file(path: Path) -> bytes | None:
    """What is in the file; None if there is none that can be read, or if it is a link or no regular file."""
    try:
        check_side_file(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def check_side_file(path: Path) -> None:
    """Raises ``StoreError`` (``side-file-refused``) for a link of either kind, and for what is no regular file."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no regular file"
        raise StoreError("side-file-refused", f"it is {what}", file=str(path))
    if found.st_nlink > 1:
        # To write into it would change the file of the other name.
        raise StoreError("side-file-refused", f"it has {found.st_nlink} names (hard links)", file=str(path))


def take_after(made: int | Path, like: os.stat_result, *, execute: bool = False) -> None:
    """Gives a new file, or folder (``execute``), the mode of the database, and its owner where that can be."""
    mode = stat.S_IMODE(like.st_mode)
    # Whoever may read the database may go into a folder beside it.
    os.chmod(made, mode | (mode & 0o444) >> 2 if execute else mode)  # noqa: PTH101, as it may be a descriptor
    if os.geteuid() == 0:
        os.chown(made, like.st_uid, like.st_gid)


# -- the mark


FORMAT = struct.Struct("<qqq")
"""The two numbers of the mark, and both together with the pattern below: a change of any one bit is noticed."""
PATTERN = 0x706F696E74736D61
WAITING = 24
"""Where it is said who waits."""
SIZE = 32


class Mark(NamedTuple):
    """How many transactions were committed, and the number of the last message."""

    commits: int
    sequence: int


class MarkFile:
    """The file of the mark, open; thread-safe. Raises OSError, and ``StoreError`` (``side-file-refused``)."""

    def __init__(self, database: str | Path) -> None:
        self._descriptor = open_side_file(mark_path(database), database)
        try:
            size = os.fstat(self._descriptor).st_size
            if size < SIZE:
                # Written, so that there is room for it on the disk whatever comes.
                os.pwrite(self._descriptor, bytes(SIZE - size), size)
        except BaseException:
            self.close()
            raise

    def read(self) -> Mark | None:
        """The mark; None if the file is new, or torn, which says nothing."""
        return parse_mark(os.pread(self._descriptor, SIZE, 0))

    def write(self, commits: int, sequence: int) -> None:
        """Puts a new mark in the place of the old one; never fails, as it tells of what is committed already."""
        try:  # noqa: SIM105, as this is done after each commit, and suppress takes as long again
            os.pwrite(self._descriptor, FORMAT.pack(commits, sequence, commits ^ sequence ^ PATTERN), 0)
        except OSError:
            # It is behind then, which is no harm.
            pass

    @property
    def waiting(self) -> bytes:
        """Other bytes whenever somebody has begun to wait."""
        return os.pread(self._descriptor, SIZE - WAITING, WAITING)

    def announce(self) -> None:
        """Somebody has begun to wait."""
        with suppress(OSError):
            os.pwrite(self._descriptor, os.urandom(SIZE - WAITING), WAITING)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)


def mark_path(database: str | Path) -> Path:
    """Where the mark of a database is."""
    return Path(f"{database}-mark")


def parse_mark(data: bytes) -> Mark | None:
    """The mark that these bytes are; None if they are none."""
    if len(data) < FORMAT.size:
        return None
    commits, sequence, both = FORMAT.unpack_from(data)
    return Mark(commits, sequence) if both == commits ^ sequence ^ PATTERN else None
