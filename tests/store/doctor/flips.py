"""One flipped bit at a time: what SQLite's own check sees of it, and what the doctor does.

``python -m tests.store.doctor.flips`` prints the table of ``docs/doctor.md``.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw

from pointsman.errors import StoreError
from pointsman.routing.breaker import BreakerState
from pointsman.store import statements
from pointsman.store.doctor.diagnosing import diagnose
from pointsman.store.message import Draft, StoredMessage
from pointsman.store.queue import Queue

MESSAGES = 300
SUFFIXES = ("", "-wal", "-mark")


def now() -> float:
    """The time at which all of it happens."""
    return 1_800_000_000.0


class Files(NamedTuple):
    """A queue's files, and what was put into it."""

    contents: dict[str, bytes]
    put: dict[int, tuple[Any, ...]]
    deliveries: frozenset[tuple[int, int]]
    """Message and subscription of all that can be popped."""


class Outcome(NamedTuple):
    """What one flipped bit did."""

    file: str
    byte: int
    bit: int
    sqlite: bool
    """Whether SQLite's own check saw it."""
    codes: tuple[str, ...]
    """What the doctor said."""
    refused: str | None
    """The code of the error with which the queue refused, if it did."""
    wrong: tuple[int, ...]
    """Messages that were delivered and were not what was put."""
    same: bool
    """Whether all that was put could be read and popped as if nothing had happened."""


def make(path: Path, *, with_log: bool) -> Files:
    """A queue with messages of all kinds in all places; with its log, as a killed process leaves it, or without."""
    choose = random.Random(5)
    with Queue(path, clock=now, random=choose.random) as queue:
        queue.subscribe("audit", "orders.#")
        queue.subscribe("all", "#")
        for number in range(MESSAGES):
            queue.put_many([_draft(choose, number)])
        queue.ack_many(queue.pop_many(40))
        queue.ack_many(queue.pop_many(40, subscription="audit"))
        for message in queue.pop_many(10):
            queue.nack(message, error="no connection")
        queue.pop_many(10, lease=5000)
        row = ("breaker", "stock", "", json.dumps(BreakerState().as_data()), None)
        queue.store.write(lambda transaction: transaction.execute(statements.STATE_WRITE, row))
        if with_log:
            return _files(path, queue)
    with Queue(path, clock=now) as queue:
        files = _files(path, queue)
    contents = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in ("", "-mark")}
    return files._replace(contents=contents)


def _draft(choose: random.Random, number: int) -> Draft:
    key = choose.choice(["orders.laptops", "orders.phones.old", "stock", "", "users.new.é"])
    body = choose.randbytes(choose.randrange(400))
    data: bytes | str = body.hex() if number % 5 == 0 else body
    return Draft(
        data, key, priority=choose.randrange(1, 11), delay=500.0 if number % 11 == 0 else None,
        expires=9e6 if number % 13 == 0 else None, id=f"order-{number}" if number % 3 == 0 else None,
        metadata={"color": "rot", "größe": str(number)} if number % 4 == 0 else None,
    )  # fmt: skip


def _files(path: Path, queue: Queue) -> Files:
    contents = {suffix: Path(f"{path}{suffix}").read_bytes() for suffix in SUFFIXES if Path(f"{path}{suffix}").exists()}
    put = {message.sequence: content_of(message) for message in queue.messages()}
    with queue.store.read() as connection:
        ready = connection.execute("SELECT sequence, subscription FROM ready")
        return Files(contents, put, frozenset((row[0], row[1]) for row in ready))


def content_of(message: StoredMessage) -> tuple[Any, ...]:
    """All that a consumer gets of what was put."""
    return (
        message.id, message.routing_key, message.data, message.priority, message.time, message.expires,
        message.metadata_text, message.envelope,
    )  # fmt: skip


def flip(files: Files, directory: Path, file: str, place: random.Random) -> Outcome:
    """Flips one bit of a copy, and looks at what comes of it."""
    path = directory / "queue.db"
    byte, bit = place.randrange(len(files.contents[file])), place.randrange(8)
    _write(path, files, file, byte, bit)
    try:
        codes = tuple(finding.code for finding in diagnose(path, clock=now).findings)
        seen = _sqlite_sees(path)
        _write(path, files, file, byte, bit)
        refused, wrong, same = _use(path, files)
    finally:
        for each in directory.glob("queue.db*"):
            each.unlink()
    return Outcome(file, byte, bit, seen, codes, refused, wrong, same)


def _write(path: Path, files: Files, file: str, byte: int, bit: int) -> None:
    for each in path.parent.glob("queue.db*"):
        each.unlink()
    for suffix, content in files.contents.items():
        data = bytearray(content)
        if suffix == file:
            data[byte] ^= 1 << bit
        Path(f"{path}{suffix}").write_bytes(data)


def _sqlite_sees(path: Path) -> bool:
    try:
        connection = apsw.Connection(str(path))
        try:
            return [row[0] for row in connection.execute("PRAGMA integrity_check")] != ["ok"]
        finally:
            connection.close()
    except (apsw.Error, UnicodeDecodeError):
        return True


def _use(path: Path, files: Files) -> tuple[str | None, tuple[int, ...], bool]:
    """Pops everything as a consumer would, and compares it with what was put."""
    taken: list[StoredMessage] = []
    try:
        with Queue(path, clock=now) as queue:
            names = [None, *(each.name for each in queue.subscriptions())]
            for name in names:
                taken += queue.pop_many(10 * MESSAGES, subscription=name)
            read = {message.sequence: content_of(message) for message in queue.messages()}
            same = queue.size().dead == 0
    except StoreError as error:
        return error.code, _wrong(taken, files), False
    same = same and read == files.put and {(each.sequence, each.subscription) for each in taken} == files.deliveries
    return None, _wrong(taken, files), same


def _wrong(taken: list[StoredMessage], files: Files) -> tuple[int, ...]:
    return tuple(each.sequence for each in taken if files.put.get(each.sequence) != content_of(each))


def flips(directory: Path, file: str, count: int, seed: int) -> Iterator[Outcome]:
    """Flips one bit after the other, each in a fresh copy."""
    files = make(directory / "original.db", with_log=file == "-wal")
    place = random.Random(seed)
    for _ in range(count):
        yield flip(files, directory, file, place)


def main(count: int, seed: int) -> None:
    """Prints how many flips were seen by whom."""
    print(f"{count} flipped bits each, {MESSAGES} messages, seed {seed}")
    print(f"{'':<28}{'file':>8}{'log':>8}")
    rows: list[Counter[str]] = []
    for file in ("", "-wal"):
        with TemporaryDirectory() as directory:
            rows.append(Counter(label for each in flips(Path(directory), file, count, seed) for label in _labels(each)))
    for label in LABELS:
        print(f"{label:<28}{rows[0][label]:>8}{rows[1][label]:>8}")


LABELS = (
    "nothing was changed by it", "something was", "  integrity_check missed it", "  the doctor missed it",
    "wrong data were delivered",
)  # fmt: skip


def _labels(outcome: Outcome) -> Iterator[str]:
    yield LABELS[0] if outcome.same else LABELS[1]
    if not outcome.same and not outcome.sqlite:
        yield LABELS[2]
    if not outcome.same and not outcome.codes:
        yield LABELS[3]
    if outcome.wrong:
        yield LABELS[4]


if __name__ == "__main__":
    main(*(int(each) for each in (*sys.argv[1:3], *("150", "5")[len(sys.argv) - 1 :])))
