"""Files and folders that are still there after a power failure."""

from __future__ import annotations

import os
from pathlib import Path


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
