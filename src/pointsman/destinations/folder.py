"""The destination ``folder``: each delivery becomes a file of its own, named after the id of the delivery.

The file is written under a temporary name (it begins with a dot and ends with ``.part``), put on disk, and renamed: a
reader sees all of it or nothing. A delivery that is there already is not written again. A crash can leave a temporary
file behind, which is never read and can be removed.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from pathlib import Path
from urllib.parse import quote

from pydantic import Field

from pointsman._util import json_text
from pointsman.destinations.base import Delivered, DeliveryFailed, Options, PathText
from pointsman.destinations.file import make_folder, sync_folder, write_whole
from pointsman.errors import InputError

LONGEST_NAME = 180
"""Characters of a name that is made of the id alone; file systems allow 255 bytes."""
KEPT_OF_A_LONGER_ONE = 120


class FolderOptions(Options):
    """The options of a destination of the type ``folder``."""

    path: PathText = Field(description="The folder; it and those above it are made when they are not there.")


class FolderSink:
    """Writes each delivery to a file of its own."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = path

    async def open(self) -> None:
        """Make the folder; raises ``InputError`` (``bad-destination``) when nothing can be written there."""
        try:
            await asyncio.to_thread(_make_writable, self._path)
        except OSError as error:
            problem = f"destination {self._name!r}: the folder cannot be used: {error.strerror}"
            raise InputError("bad-destination", problem, file=str(self._path)) from None

    async def deliver(self, delivery: Delivered) -> None:
        """Write the file unless it is there."""
        try:
            await asyncio.to_thread(_write, self._path, delivery)
        except OSError as error:
            raise DeliveryFailed(f"the file cannot be written: {error.strerror}") from error

    async def close(self) -> None:
        """Nothing is held open between deliveries."""


def file_name(delivery_id: str) -> str:
    """The name of a delivery's file: no two ids share one, none is hidden, and none leads out of the folder.

    >>> file_name("17-audit"), file_name("../a b")
    ('17-audit.json', '%2E.%2Fa%20b.json')
    """
    name = quote(delivery_id, safe="")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) > LONGEST_NAME:
        # Longer than any name that is not shortened, so that it can be none of these.
        name = f"{name[:KEPT_OF_A_LONGER_ONE]}~{hashlib.sha256(delivery_id.encode()).hexdigest()}"
    return f"{name}.json"


def _make_writable(folder: Path) -> None:
    make_folder(folder)
    temporary = _temporary(folder)
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    temporary.unlink()


def _temporary(folder: Path) -> Path:
    return folder / f".{secrets.token_hex(8)}.part"


def _write(folder: Path, delivery: Delivered) -> None:
    target = folder / file_name(delivery.delivery_id)
    if not target.exists():
        _write_new(target, json_text.compact(delivery.as_record()) + b"\n")
    # Also for a file that was there: who renamed it may have been killed before this.
    sync_folder(folder)


def _write_new(target: Path, data: bytes) -> None:
    temporary = _temporary(target.parent)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            write_whole(descriptor, data)
        finally:
            os.close(descriptor)
        temporary.rename(target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
