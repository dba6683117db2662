"""The messages of another queue, read one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import apsw

from pointsman.errors import StoreError
from pointsman.store.importing import statements
from pointsman.store.importing.kinds import AUTO, Kind, Status, find_kind
from pointsman.store.importing.opening import Opened

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
