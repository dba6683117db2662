"""The queue written by hand in SQL, without what the project's queue checks, remembers and promises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import time
from typing import Any

from pointsman.bench.queue_contenders import LEASE, Contender, Execute
from pointsman.store import schema
from pointsman.store.connection import open_connection
from pointsman.store.statements import QUICK_LISTED, READY_ADD_NEW

RAW, RAW_ONE = "raw apsw, same inserts", "raw apsw, one table"
CHECKSUM = 0x7FFFFFFF
"""As large as a checksum is; nobody calculates it."""
SECOND = 1_000_000

KEY_ADD = "INSERT INTO key (text) VALUES (?) RETURNING id"
KEY_KNOW = "INSERT OR IGNORE INTO key (text) VALUES (?)"
CONTROL_PUT = """
UPDATE control SET commits = commits + 1, sequence = sequence + ?1, unfinished = unfinished + ?1, time = ?2
WHERE one = 1 RETURNING sequence
"""
CONTROL_ACK = "UPDATE control SET commits = commits + 1, unfinished = unfinished - ?1, time = ?2 WHERE one = 1"
NEXT_MESSAGE = "SELECT 1 + max(sequence, (SELECT coalesce(max(sequence), 0) FROM message)) FROM control"
MESSAGE_ADD = "INSERT INTO message (sequence, key, priority, time, checksum, body) VALUES (?, ?, 5, ?, ?, ?)"
READY_ADD = "INSERT INTO ready (subscription, priority, sequence, via, key, attempts) VALUES (0, 5, ?, 0, ?, 0)"
READY_FIRST = """
SELECT m.body, r.priority, r.sequence, r.via, k.text, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id,
    r.attempts, r.note, r.error
FROM ready AS r JOIN message AS m ON m.sequence = r.sequence JOIN key AS k ON k.id = r.key
WHERE r.subscription = 0 ORDER BY r.priority, r.sequence, r.via LIMIT ?
"""
LEASE_FIRST = """
INSERT INTO leased (until, subscription, sequence, via, token, priority, key, attempts)
SELECT ?, 0, sequence, via, ?, priority, key, attempts + 1 FROM ready
WHERE subscription = 0 ORDER BY priority, sequence, via LIMIT ?
"""
READY_DELETE = "DELETE FROM ready WHERE subscription = 0 AND (priority, sequence, via) <= (?, ?, ?)"
LEASED_DELETE = "DELETE FROM leased WHERE until = ? AND subscription = 0 AND sequence = ? AND via = 0"
FINISHED_ADD = "INSERT INTO finished (sequence, time, archived) VALUES (?, ?, 0)"

ONE_TABLE = """
CREATE TABLE message (
    id INTEGER PRIMARY KEY, status INTEGER NOT NULL, priority INTEGER NOT NULL, time INTEGER NOT NULL, until INTEGER,
    key TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX message_by_status ON message (status, priority, id);
"""
ONE_ADD = "INSERT INTO message (status, priority, time, key, body) VALUES (0, 5, ?, ?, ?)"
ONE_POP = """
UPDATE message SET status = 1, until = ? WHERE id IN
    (SELECT id FROM message WHERE status = 0 ORDER BY priority, id LIMIT ?)
RETURNING body, id, key, priority, time
"""
ONE_ACK = "UPDATE message SET status = 2 WHERE id = ? AND status = 1"


class Raw(Contender):
    """A connection with all the settings of the project's queue."""

    def __init__(self, path: Path, durability: str, tables: Sequence[str]) -> None:
        self._connection = open_connection(str(path), durability, 10.0)
        self._execute = self._connection.execute
        self._executemany = self._connection.executemany
        self._execute("BEGIN IMMEDIATE")
        if not self._connection.pragma("user_version"):
            for each in tables:
                self._execute(each)
            self._connection.pragma("user_version", 1)
            self._connection.pragma("application_id", schema.APPLICATION)
        self._execute("COMMIT")

    def connections(self) -> list[Execute]:
        """The only one."""
        return [self._execute]

    def put(self, item: Any) -> object:
        """As a batch of one."""
        return self.put_many((item,))

    def pop(self) -> Any:
        """As a batch of one."""
        found = self.pop_many(1)
        return found[0] if found else None

    def ack(self, message: Any) -> object:
        """As a batch of one."""
        return self.ack_many((message,))

    def body(self, message: Any) -> bytes:
        """The first column, wherever the rows come from."""
        data: bytes = message[0]
        return data

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()


class RawSame(Raw):
    """The project's own tables, and the inserts, deletes and updates that its queue makes."""

    name = RAW

    def __init__(self, folder: Path, durability: str) -> None:
        control = "INSERT INTO control VALUES (1, 'rawfile1', 'amqp', 0, 0, 0, 0, 0, 0, 0, 0)"
        super().__init__(folder / "raw.db", durability, (*schema.STEPS, control))
        self._numbers: dict[str, int] = {}

    def know(self, keys: Sequence[str]) -> object:
        """Stores the keys."""
        self._executemany(KEY_KNOW, [(key,) for key in keys])
        self._numbers.update(self._execute("SELECT text, id FROM key"))
        return None

    def put_many(self, items: Sequence[Any]) -> object:
        """The keys that are new and the messages; for more than one, the deliveries and the control row."""
        execute, executemany, numbers = self._execute, self._executemany, self._numbers
        now = int(time() * SECOND)
        execute("BEGIN IMMEDIATE")
        # As the project's queue does, which leaves the rest to who takes it when it puts one message.
        if len(items) > 1:
            self._list()
        last = next(execute(*(CONTROL_PUT, (len(items), now)) if len(items) > 1 else (NEXT_MESSAGE,)))[0]
        new = [*dict.fromkeys(key for _, key in items if key not in numbers)]
        if new:
            numbers.update(zip(new, (row[0] for row in executemany(KEY_ADD, [(key,) for key in new])), strict=True))
        rows = [(number, numbers[item[1]], item[0]) for number, item in enumerate(items, last - len(items) + 1)]
        executemany(MESSAGE_ADD, [(sequence, key, now, CHECKSUM, body) for sequence, key, body in rows])
        if len(items) > 1:
            executemany(READY_ADD, [(sequence, key) for sequence, key, _ in rows])
        execute("COMMIT")
        return None

    def _list(self) -> None:
        """The deliveries of the messages that were put one by one."""
        self._execute(READY_ADD_NEW)
        if self._connection.changes():
            self._execute(QUICK_LISTED)

    def pop_many(self, count: int) -> list[Any]:
        """The first deliveries with their messages, moved from ready to leased."""
        execute = self._execute
        now = int(time() * SECOND)
        until = now + int(LEASE) * SECOND
        execute("BEGIN IMMEDIATE")
        self._list()
        found = [(*row, until) for row in execute(READY_FIRST, (count,))]
        if found:
            execute(LEASE_FIRST, (until, now, count))
            execute(READY_DELETE, found[-1][1:4])
        execute("COMMIT")
        return found

    def ack_many(self, messages: Sequence[Any]) -> object:
        """Deleted from leased, written to finished."""
        now = int(time() * SECOND)
        self._execute("BEGIN IMMEDIATE")
        self._executemany(LEASED_DELETE, [(row[-1], row[2]) for row in messages])
        self._executemany(FINISHED_ADD, [(row[2], now) for row in messages])
        self._execute(CONTROL_ACK, (len(messages), now))
        self._execute("COMMIT")
        return None


class RawOne(Raw):
    """One table with a status and an index on it: the least that can be called a queue."""

    name = RAW_ONE

    def __init__(self, folder: Path, durability: str) -> None:
        super().__init__(folder / "one.db", durability, (ONE_TABLE,))

    def put_many(self, items: Sequence[Any]) -> object:
        """One insert for each."""
        now = int(time() * SECOND)
        self._execute("BEGIN IMMEDIATE")
        self._executemany(ONE_ADD, [(now, key, body) for body, key in items])
        self._execute("COMMIT")
        return None

    def pop_many(self, count: int) -> list[Any]:
        """One update that gives its rows; they come in the order of their ids."""
        self._execute("BEGIN IMMEDIATE")
        found = list(self._execute(ONE_POP, (int(time() + LEASE) * SECOND, count)))
        self._execute("COMMIT")
        return found

    def ack_many(self, messages: Sequence[Any]) -> object:
        """One update for each."""
        self._execute("BEGIN IMMEDIATE")
        self._executemany(ONE_ACK, [(row[1],) for row in messages])
        self._execute("COMMIT")
        return None
