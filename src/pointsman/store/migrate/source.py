"""The messages of another queue, MiniQ or litequeue, read one by one.

Its database is opened to read it only, and no trace is left there.
"""

from __future__ import annotations

import fcntl
import hashlib
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from zlib import crc32

import apsw

from pointsman.errors import InputError, StoreError
from pointsman.store.migrate import statements


class State(StrEnum):
    """What a message is in the queue that takes it over."""

    READY = "ready"
    DONE = "done"
    DEAD = "dead"
    ARCHIVED = "archived"


class Status(StrEnum):
    """What a message was in the queue that it comes from, by the names that both of them have for it."""

    READY = "READY"
    LOCKED = "LOCKED"
    DONE = "DONE"
    FAILED = "FAILED"
    ARCHIVED = "ARCHIVED"
    UNKNOWN = "UNKNOWN"
    """A number that has no meaning there."""


BECOMES: Mapping[Status, State] = {
    Status.READY: State.READY,
    # Whoever had taken it is gone, or will be when the old queue is.
    Status.LOCKED: State.READY,
    Status.DONE: State.DONE,
    Status.FAILED: State.DEAD,
    Status.ARCHIVED: State.ARCHIVED,
    Status.UNKNOWN: State.DEAD,
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the queues that can be taken over."""

    name: str
    title: str
    """As its authors write it."""
    statuses: tuple[Status, ...]
    """By the number that is stored."""
    ticks: int
    """How many of its units of time make a second."""
    has_topics: bool

    def status(self, number: int | None) -> Status:
        """What a stored number means."""
        if number is None or not 0 <= number < len(self.statuses):
            return Status.UNKNOWN
        return self.statuses[number]


_FOUR = (Status.READY, Status.LOCKED, Status.DONE, Status.FAILED)
MINIQ = Kind("miniq", "MiniQ", (*_FOUR, Status.ARCHIVED), 1_000, has_topics=True)
LITEQUEUE = Kind("litequeue", "litequeue", _FOUR, 1_000_000_000, has_topics=False)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (MINIQ, LITEQUEUE)}
AUTO = "auto"


def find_kind(name: str, columns: frozenset[str]) -> Kind:
    """The kind of that name; ``auto`` goes by whether there is a column for topics.

    Raises ``InputError`` (``bad-usage``) for any other name.
    """
    if name == AUTO:
        return MINIQ if "topic" in columns else LITEQUEUE
    if name not in KINDS:
        raise InputError("bad-usage", f"there is no kind {name!r}; there are {AUTO}, {', '.join(KINDS)}")
    return KINDS[name]


# -- opening another program's database to read it, without leaving a trace
#
# SQLite makes files beside a database in WAL mode even for a connection that only reads. Which way avoids that
# depends on what lies there already:
#
#     a log that is in use       the program is running: its index is opened to be read only, and SQLite's locks hold
#     a log that nobody uses     the program was killed: an index of our own is kept in memory, and nothing is locked
#     no log                     all is in the database: read it as a file that does not change, and nothing is locked
#     a rollback journal's mode  SQLite's own locks hold, and it makes no files
#
# Where nothing is locked, ``Opened.check`` tells whether somebody has written meanwhile. As the system drops the locks
# that a process has on a file when that process closes it anywhere, a process must not open what it uses itself.


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


# -- the messages of another queue, read one by one


COLUMNS = frozenset({"message_id", "data", "status", "in_time", "lock_time", "done_time"})
"""What the table of either queue has."""
SECOND = 1_000_000
LAST_TIME = 253_402_300_800 * SECOND
"""The end of the year 9999; what lies behind it is no time."""


class SourceRow(NamedTuple):
    """A message as the other queue has it. A text that is no UTF-8 has its bytes as lone surrogates."""

    position: int
    """The number of its row, which grows in the order of putting."""
    id: str | None
    topic: str | None
    data: bytes | str
    """Text if it is stored as that and is UTF-8."""
    number: int | None
    """The status as it is stored; None if it is no number."""
    priority: int | None
    put: int | None
    """In microseconds since 1970; None if it is no time."""
    done: int | None


class Source:
    """A table of messages in a database that ``opened`` opened; nothing is read before it is asked for.

    The table is found by its columns. Raises ``StoreError``: ``source-not-queue`` when none has them,
    ``source-tables`` when several have and ``table`` does not say which.
    """

    def __init__(self, database: Opened, table: str | None = None, kind: str = AUTO) -> None:
        self._database = database
        self._connection: apsw.Connection = database.connection
        self.table, columns = _find_table(database, table)
        self.kind: Kind = find_kind(kind, columns)
        self.segmented = "routing_segments" in _tables(database)
        """Whether it is of a version of MiniQ whose patterns go word by word already."""
        self._topic = "topic" if "topic" in columns and self.kind.has_topics else None
        self._priority = "priority" if "priority" in columns and self.kind.has_topics else None
        self._encoding = str(self._connection.execute(statements.SOURCE_ENCODING).get).lower()

    @property
    def path(self) -> str:
        """The name of the file."""
        return str(self._database.path)

    @property
    def file(self) -> str:
        """Tells this table from those of all other files, wherever the file is moved on its disk."""
        return f"{self._database.file}:{self.table}"

    def check(self) -> None:
        """Raises ``StoreError`` (``source-changed``) if what was read cannot be relied on."""
        self._database.check()

    def identity(self) -> str | None:
        """Tells these messages from all others, in a copy of the file, too; None if there are none."""
        first = self._connection.execute(self._named(statements.SOURCE_FIRST)).fetchone()
        if first is None:
            return None
        return hashlib.sha256(repr((self.table, *first)).encode()).hexdigest()

    def counts(self, after: int | None = None) -> dict[Status, int]:
        """How many messages have which status, of those behind a position."""
        found: dict[Status, int] = {}
        for number, count in self._connection.execute(self._named(statements.SOURCE_COUNT), (after,)):
            status = self.kind.status(number)
            found[status] = found.get(status, 0) + count
        return found

    def fingerprint(self, last: int) -> tuple[int, int]:
        """What ``fingerprint_with`` makes of the messages up to a position, and their number."""
        value = count = 0
        for position, message_id in self._connection.execute(self._named(statements.SOURCE_TAKEN), (last,)):
            value = fingerprint_with(value, position, self._text(message_id))
            count += 1
        return value, count

    def rows(self, after: int | None = None) -> Iterator[SourceRow]:
        """The messages behind a position, in the order of putting."""
        statement = statements.named(statements.SOURCE_ROWS, self.table, self._topic, self._priority)
        for row in self._connection.execute(statement, (after,)):
            position, message_id, topic, kind, data, number, priority, put, done = row
            yield SourceRow(
                position,
                self._text(message_id),
                self._text(topic),
                data if kind == "blob" else self._data(data),
                number,
                priority,
                self._time(put),
                self._time(done),
            )

    def topics(self) -> Iterator[tuple[str, int]]:
        """Every topic, and how many messages have it; none for a queue without topics."""
        if self._topic is not None:
            for topic, count in self._connection.execute(self._named(statements.SOURCE_TOPICS)):
                yield self._text(topic) or "", count

    def _named(self, statement: str) -> str:
        return statements.named(statement, self.table)

    def _text(self, stored: bytes | None) -> str | None:
        if stored is None:
            return None
        return stored.decode(self._encoding, "surrogateescape" if self._encoding == "utf-8" else "surrogatepass")

    def _data(self, stored: bytes | None) -> bytes | str:
        try:
            return (stored or b"").decode(self._encoding)
        except UnicodeDecodeError:
            return stored or b""

    def _time(self, stored: int | None) -> int | None:
        time = None if stored is None else stored * SECOND // self.kind.ticks
        return time if time is not None and 0 <= time < LAST_TIME else None


def fingerprint_with(value: int, position: int, message_id: str | None) -> int:
    """The fingerprint of a row of messages with one more at its end."""
    return crc32(f"{position} {message_id}\n".encode(errors="surrogatepass"), value)


def _tables(database: Opened) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in database.connection.execute(statements.SOURCE_COLUMNS):
        found.setdefault(table, set()).add(column)
    return found


def _find_table(database: Opened, wanted: str | None) -> tuple[str, frozenset[str]]:
    file = str(database.path)
    fitting = {name: columns for name, columns in _tables(database).items() if columns >= COLUMNS}
    if wanted is not None:
        fitting = {name: columns for name, columns in fitting.items() if name.lower() == wanted.lower()}
    if not fitting:
        which = "no table" if wanted is None else f"no table {wanted!r}"
        raise StoreError("source-not-queue", f"it has {which} with the columns {', '.join(sorted(COLUMNS))}", file=file)
    if len(fitting) > 1:
        names = ", ".join(repr(name) for name in sorted(fitting))
        raise StoreError("source-tables", f"several of its tables hold messages: {names}", file=file)
    name, columns = next(iter(fitting.items()))
    return name, frozenset(columns)
