"""The destination ``file``: each delivery becomes one line of JSON at the end of a file.

A line is written by one call in append mode and is on disk when ``deliver`` returns. A crash in the middle of a line
leaves the beginning of it. Whoever appends next sees that the file does not end with a line end, and starts a new line
first: what is there is never cut off, and a line that was delivered never shares its line with a broken one. So a
reader must pass over lines that are not JSON, and may see a delivery id twice, when it was delivered twice.

The file is opened for each delivery, so that it can be renamed away at any time. A lock on it keeps several processes
apart; a process that stops while it holds the lock makes the deliveries of the others fail, to be tried again.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from pathlib import Path
from typing import Literal

from pydantic import Field

from pointsman._util import json_text
from pointsman.destinations.base import Delivered, DeliveryFailed, Options, PathText
from pointsman.errors import InputError


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, on disk when this returns; nothing happens where it is there already."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: those that were made, renamed and removed before the call."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of the bytes, in one call unless the system takes fewer, and put them on disk. Raises ``OSError``."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


# -- the destination


LINE_END = b"\n"
LOCK_ATTEMPTS = 500
LOCK_PAUSE = 0.01
"""In seconds, between two attempts to lock."""


class FileOptions(Options):
    """The options of a destination of the type ``file``."""

    path: PathText = Field(description="The file; it and the folders above it are made when they are not there.")
    format: Literal["jsonl"] = Field("jsonl", description="One JSON object in each line.")


class FileSink:
    """Appends deliveries to a file."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = path
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Make the file; raises ``InputError`` (``bad-destination``) when it cannot be written."""
        try:
            os.close(await asyncio.to_thread(_opened, self._path))
        except OSError as error:
            problem = f"destination {self._name!r}: the file cannot be written: {error.strerror}"
            raise InputError("bad-destination", problem, file=str(self._path)) from None

    async def deliver(self, delivery: Delivered) -> None:
        """Append one line; the lines of one sink stand in the order of the calls."""
        line = json_text.compact(delivery.as_record()) + LINE_END
        async with self._turn:
            try:
                await asyncio.to_thread(_append, self._path, line)
            except OSError as error:
                raise DeliveryFailed(f"the file cannot be written: {error.strerror}") from error

    async def close(self) -> None:
        """Nothing is held open between deliveries."""


def _append(path: Path, line: bytes) -> None:
    descriptor = _opened(path)
    try:
        _lock(descriptor)
        write_whole(descriptor, line if _ends_with_line(descriptor) else LINE_END + line)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        make_folder(path.parent)
        descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    try:
        sync_folder(path.parent)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _lock(descriptor: int) -> None:
    """Lock the file until it is closed; raises ``BlockingIOError`` when another process does not let go of it."""
    for _ in range(LOCK_ATTEMPTS):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(LOCK_PAUSE)
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _ends_with_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == LINE_END
