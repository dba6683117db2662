"""Whether a process can use the queue's file: SQLite's log works on one host only."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import NamedTuple

from pointsman.errors import StoreError
from pointsman.store.queue import Queue

BOOT = Path("/proc/sys/kernel/random/boot_id")


class Place(NamedTuple):
    """A queue's file, and the host where it was opened."""

    path: str
    file: str
    """What the file says of itself; other for each queue."""
    host: str
    machine: str
    """The same for all processes, and all containers, of one running kernel."""


def place_of(queue: Queue) -> Place:
    """The place of a queue that this process has open."""
    return Place(queue.store.path, queue.store.file, socket.gethostname(), _machine())


def open_at(place: Place) -> Queue:
    """The queue, in a process that may be on another host than the one where it was opened first.

    Raises ``StoreError`` (``queue-elsewhere``) if it is, and as ``Queue`` does.
    """
    host = socket.gethostname()
    there = f"the file is on the host {place.host}, and this task runs on {host}; SQLite works on one host only"
    if _machine() != place.machine or not Path(place.path).exists():
        raise StoreError("queue-elsewhere", there, file=place.path)
    queue = Queue(place.path)
    if queue.store.file != place.file:
        queue.close()
        raise StoreError("queue-elsewhere", f"it is another queue than the driver has; {there}", file=place.path)
    return queue


def _machine() -> str:
    try:
        return BOOT.read_text().strip()
    except OSError:
        return socket.gethostname()
