"""Opening a queue's file, and what SQLite's errors mean to whoever uses it."""

from __future__ import annotations

import secrets
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import apsw

from pointsman.errors import StoreError
from pointsman.store import schema, statements

MEMORY = ":memory:"
HAS_MOVED = apsw.SQLITE_FCNTL_HAS_MOVED
MOVED = "the file was deleted, moved or replaced while it was open"


class Identity(NamedTuple):
    """What a file says of itself."""

    file: str
    """Begins the ids of messages that were given none; other for each file."""
    dialect: str


CODES: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.BusyError, "store-busy"),
    (apsw.LockedError, "store-busy"),
    (apsw.FullError, "disk-full"),
    (apsw.NotADBError, "store-damaged"),
    (apsw.CorruptError, "store-damaged"),
    (apsw.CantOpenError, "store-not-opened"),
    (apsw.ReadOnlyError, "store-not-opened"),
)
FULL_DISK = {apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_TRUNCATE}
"""What a limit on the size of files looks like; SQLite calls only a full disk full."""


def as_store_error(error: Exception, path: str) -> StoreError:
    """The project's error for one of SQLite's, or for a text of the file that is none."""
    if isinstance(error, UnicodeDecodeError):
        return StoreError("store-damaged", f"a text in it is no UTF-8: {error}", file=path)
    code = next((code for kind, code in CODES if isinstance(error, kind)), "store-failed")
    if getattr(error, "extendedresult", 0) in FULL_DISK:
        code = "disk-full"
    return StoreError(code, f"SQLite says: {error}", file=path)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turns what SQLite raises into ``StoreError``."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise as_store_error(error, path) from error


def open_connection(path: str, durability: str, busy_timeout: float, *, new: bool = True) -> apsw.Connection:
    """A connection with the queue's settings; ``new`` makes the file if there is none. Raises ``StoreError``."""
    with translated(path):
        connection = apsw.Connection(path, apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if new else 0))
        try:
            if connection.readonly("main"):
                raise StoreError("store-not-opened", "the file may only be read", file=path)
            connection.set_busy_timeout(int(busy_timeout * 1000))
            # Without it SQLite plans a statement anew for each value of a LIMIT, which takes longer than running it.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            # Before anything is set: the journal's mode is written into the file.
            _find_version(connection, path)
            _set_up(connection, busy_timeout)
            full = durability == "full"
            connection.execute(statements.SYNCHRONOUS_FULL if full else statements.SYNCHRONOUS_NORMAL)
        except BaseException:
            connection.close()
            raise
    return connection


class Place:
    """Where a file was opened. Not safe between threads."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._answer = array("i", [0])
        self._address = self._answer.buffer_info()[0]

    def check(self, connection: apsw.Connection) -> None:
        """Raises ``StoreError`` (``store-moved``) if the file that is open is no longer the one of its path."""
        connection.file_control("main", HAS_MOVED, self._address)
        if self._answer[0]:
            raise StoreError("store-moved", MOVED, file=self._path)


def _set_up(connection: apsw.Connection, busy_timeout: float) -> None:
    """Sets what every connection has; SQLite does not wait by itself for another who changes the journal's mode."""
    end = time.monotonic() + busy_timeout
    while True:
        try:
            # To the end: some of them give a row, and SQLite goes on with the next only when that was read.
            list(connection.execute(statements.PRAGMAS))
            return
        except apsw.BusyError:
            if time.monotonic() >= end:
                raise
            time.sleep(0.005)


def prepare(connection: apsw.Connection, path: str, dialect: str | None) -> Identity:
    """Makes the tables of a new file, or takes an older one to the present version, in one transaction.

    ``dialect`` is that of the keys of a new file, ``amqp`` if None. Raises ``StoreError``: ``store-newer``,
    ``store-foreign`` and ``store-mismatch``, and then leaves the file as it was.
    """
    with translated(path):
        if _find_version(connection, path) < schema.VERSION:
            # Only who has something to change needs the lock, which a process that was stopped may hold.
            connection.execute(statements.BEGIN)
            try:
                _migrate(connection, path, dialect)
            except BaseException:
                # SQLite itself has undone it when the disk is full.
                if connection.in_transaction:
                    connection.execute(statements.ROLLBACK)
                raise
            connection.execute(statements.COMMIT)
        row = next(iter(connection.execute(statements.CONTROL_FILE)), None)
    if row is None:
        raise StoreError("store-damaged", "it does not say what it is", file=path)
    identity = Identity._make(row)
    if dialect is not None and dialect != identity.dialect:
        problem = f"its keys are in the dialect {identity.dialect!r}, not {dialect!r}"
        raise StoreError("store-mismatch", problem, file=path)
    return identity


def _find_version(connection: apsw.Connection, path: str) -> int:
    """The version of the tables as of one instant, as another process may be making them. Raises as ``_check_ours``."""
    connection.execute(statements.BEGIN_READ)
    try:
        return _check_ours(connection, path)
    finally:
        connection.execute(statements.COMMIT)


def _check_ours(connection: apsw.Connection, path: str) -> int:
    """The version of the tables; 0 for a new file. Raises ``StoreError`` (``store-newer``, ``store-foreign``)."""
    application = connection.pragma("application_id")
    version = int(connection.pragma("user_version"))
    if application != schema.APPLICATION:
        if application or version or connection.execute(statements.ANY_TABLE).fetchone():
            raise StoreError("store-foreign", "the database has tables of somebody else", file=path)
    elif version > schema.VERSION:
        problem = f"it has version {version} of the tables, and this program knows up to {schema.VERSION}"
        raise StoreError("store-newer", problem, file=path)
    return version


def _migrate(connection: apsw.Connection, path: str, dialect: str | None) -> None:
    version = _check_ours(connection, path)
    if version == schema.VERSION:
        return
    for step in schema.STEPS[version:]:
        connection.execute(step)
    if version == 0:
        chosen = dialect or "amqp"
        connection.execute(statements.CONTROL_NEW, (secrets.token_hex(4), chosen))
        connection.execute(statements.SUBSCRIPTION_MAIN, (chosen,))
    connection.pragma("application_id", schema.APPLICATION)
    connection.pragma("user_version", schema.VERSION)
