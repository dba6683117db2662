"""Copying what can be read of one file into another, around what cannot."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from pointsman.store import statements
from pointsman.store.doctor import questions
from pointsman.store.doctor.control import Control, read_control
from pointsman.store.doctor.reading import Row, Unreadable, each_row

RANGES = 20
"""Ranges of missing numbers that are named."""
FAILED = (apsw.Error, UnicodeDecodeError)


class Copied(NamedTuple):
    """What came over."""

    messages: int
    missing: int
    """Numbers below the highest that no message has: they cannot be read, or were pruned before."""
    ranges: tuple[str, ...]
    """The first of those numbers."""


@contextmanager
def changing(path: Path) -> Iterator[apsw.Connection]:
    """A transaction on a queue's file, past the queue."""
    with _open(path) as connection:
        connection.execute(statements.BEGIN)
        try:
            yield connection
        except BaseException:
            if connection.in_transaction:
                connection.execute(statements.ROLLBACK)
            raise
        connection.execute(statements.COMMIT)


@contextmanager
def attached(path: Path, source: Path) -> Iterator[apsw.Connection]:
    """A queue's file, past the queue, with another one attached that is only read.

    Each statement is a transaction: one that meets a damaged page would spoil what was done before it.
    """
    with _open(path) as connection:
        connection.execute(questions.ATTACH, (_for_reading(source),))
        yield connection


@contextmanager
def _open(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(10_000)
        yield connection
    finally:
        connection.close()


def copy_all(connection: apsw.Connection, after: int, least: int, *, state: bool) -> Copied:
    """Copies messages above a number, and what belongs to them; ``least`` is the number that the last has at least."""
    last = max(least, _number(connection, questions.SOURCE_HIGHEST))
    _try(connection, statements.READY_ADD_NEW)
    known, keys = _number(connection, statements.KEY_LAST), _number(connection, questions.SOURCE_LAST_KEY)
    _copy_ranges(connection, questions.COPY_KEYS, known + 1, max(keys, known + 1))
    count = _copy_ranges(connection, questions.COPY_MESSAGES, after + 1, max(last, after + 1))
    for statement in questions.COPY_ROWS:
        _try(connection, statement, (after,))
    for table, statement in questions.COPY_DELIVERIES.items():
        if not _try(connection, statement, (after,)):
            _copy_places(connection, table)
    _try(connection, questions.COPY_UNLISTED)
    for statement in questions.COPY_STATE if state else ():
        _try(connection, statement)
    if state:
        _copy_wildcards(connection)
    connection.execute(questions.AFTER_COPY, (least,))
    missing, ranges = 0, list[str]()
    for first, end in connection.execute(questions.GAPS, (last,)):
        missing += end - first + 1
        if len(ranges) < RANGES:
            ranges.append(f"{first:,} to {end:,}" if end > first else f"{first:,}")
    return Copied(count, missing, tuple(ranges))


def _copy_wildcards(connection: apsw.Connection) -> None:
    """Copies the wildcard subscriptions, all of them or none: their tables are of no use without each other."""
    connection.execute(statements.BEGIN)
    try:
        for statement in questions.COPY_WILDCARDS:
            connection.execute(statement)
        connection.execute(statements.COMMIT)
    except FAILED:
        if connection.in_transaction:
            connection.execute(statements.ROLLBACK)


def _copy_ranges(connection: apsw.Connection, statement: str, first: int, last: int) -> int:
    def read(low: int, high: int, limit: int) -> list[Row]:
        return list(connection.execute(statement, (low, high, limit)))

    return sum(not isinstance(row, Unreadable) for row in each_row(read, first, last))


def _copy_places(connection: apsw.Connection, table: str) -> None:
    """One by one from both ends, up to what cannot be read; the deliveries between are made anew afterwards."""
    for statement, is_behind in zip(questions.PLACES[table], (operator.gt, operator.lt), strict=True):
        last: Row | None = None
        try:
            for place in connection.execute(statement):
                if last is not None and not is_behind(place, last):
                    # A page that leads back to where one has been; what follows is no order any more.
                    break
                last = place
                _try(connection, questions.COPY_PLACE[table], place)
        except (*FAILED, TypeError):
            continue


def _try(connection: apsw.Connection, statement: str, parameters: Row = ()) -> bool:
    try:
        connection.execute(statement, parameters)
    except FAILED:
        return False
    return True


def _number(connection: apsw.Connection, statement: str) -> int:
    try:
        found = next(iter(connection.execute(statement)))[0]
    except FAILED:
        return 0
    return found if isinstance(found, int) else 0


def control_of(source: Path) -> Control | None:
    """What a file that is only read says of itself; None if that cannot be read."""
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(_for_reading(source), flags)
    try:
        return read_control(connection)
    finally:
        connection.close()


def _for_reading(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
