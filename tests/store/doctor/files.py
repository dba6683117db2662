"""Queues to damage."""

from __future__ import annotations

from pathlib import Path

import apsw

from pointsman.store.doctor.wal import FRAME_HEADER, HEADER, read_log
from pointsman.store.queue import Queue

PAGE = 4096

SUFFIXES = ("", "-wal", "-mark")


def queue_file(path: Path, count: int = 6) -> Path:
    """A closed queue of some messages for the queue itself and for one subscription."""
    with Queue(path) as queue:
        queue.subscribe("audit", "orders.#")
        queue.put_many([(b"%d" % number, "orders.new" if number % 2 else "stock") for number in range(1, count + 1)])
    return path


def change(path: Path, *statements: str) -> Path:
    """Changes a file behind the queue's back."""
    connection = apsw.Connection(str(path))
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()
    return path


def copy(path: Path, target: Path) -> Path:
    """Copies a queue's files as they are, as if its process had been killed."""
    for suffix in SUFFIXES:
        if Path(f"{path}{suffix}").exists():
            Path(f"{target}{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    return target


def flip(path: Path, byte: int, bit: int = 0) -> None:
    """Flips one bit of a file; a negative byte counts from the end."""
    data = bytearray(path.read_bytes())
    data[byte] ^= 1 << bit
    path.write_bytes(data)


def before_the_end(log: Path, frames: int) -> int:
    """A byte of a log, so many frames before the one that was written last."""
    found = read_log(log, PAGE)
    assert found is not None
    return HEADER.size + (found.last - 1 - frames) * (FRAME_HEADER + PAGE) + FRAME_HEADER + PAGE // 2


def killed(directory: Path, count: int = 10) -> Path:
    """A queue into which messages were put one by one, as a killed process leaves it: all of it is in the log."""
    with Queue(directory / "living.db") as queue:
        for number in range(1, count + 1):
            queue.put(b"%d" % number, "a.b")
        return copy(directory / "living.db", directory / "killed.db")
