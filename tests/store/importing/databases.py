"""Databases to import: of MiniQ's shape by SQL as MiniQ sends it, of litequeue by litequeue itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from litequeue import LiteQueue

from pointsman.store.message import StoredMessage
from pointsman.store.migrate.convert import Change
from pointsman.store.migrate.run import ImportReport
from pointsman.store.queue import Queue

EXAMPLE = Path(__file__).with_name("miniq_example.db")
"""Made by MiniQ itself, before it had priorities."""
EARLIER = (
    "(message_id TEXT NOT NULL, topic TEXT, data TEXT NOT NULL, status INTEGER NOT NULL,"
    " in_time INTEGER NOT NULL, lock_time INTEGER, done_time INTEGER)"
)
LATER = (
    "(message_id TEXT NOT NULL, topic TEXT, data TEXT NOT NULL, status INTEGER NOT NULL,"
    " priority INTEGER DEFAULT 5, in_time INTEGER NOT NULL, lock_time INTEGER, done_time INTEGER)"
)
START = 1_748_428_782_000
"""Milliseconds since 1970, when the first message is put."""


def miniq(path: Path, rows: Iterable[Sequence[Any]], table: str = "messages", encoding: str = "UTF-8") -> Path:
    """A database of a later MiniQ. A row is id, topic, data, status, priority; each is put a second after the last."""
    name = table.replace('"', '""')
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f'CREATE TABLE "{name}" {LATER}')
        connection.executemany(
            f'INSERT INTO "{name}" (message_id, topic, data, status, priority, in_time) VALUES (?, ?, ?, ?, ?, ?)',  # noqa: S608
            ((*row, START + number * 1000) for number, row in enumerate(rows)),
        )
    return path


def litequeue(path: Path, count: int) -> list[str]:
    """A database of litequeue's with this many messages; gives their ids."""
    queue = LiteQueue(path)
    ids = [queue.put(f"message {number}").message_id for number in range(count)]
    queue.close()
    return ids


def traces(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """What would show that something in a folder was written to."""
    return {
        file.name: (file.stat().st_size, file.stat().st_mtime_ns, file.read_bytes())
        for file in sorted(folder.iterdir())
    }


def popped(queue: Queue, **options: Any) -> list[StoredMessage]:
    """Everything that can be taken, in the order in which it is."""
    return queue.pop_many(100_000, **options)


def changes(report: ImportReport) -> dict[Change, tuple[int, tuple[str, ...]]]:
    """What was changed, how often, and the first values."""
    return {each.change: (each.messages, each.samples) for each in report.changed}
