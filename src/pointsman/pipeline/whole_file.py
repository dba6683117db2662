"""A file that appears whole or not at all, and that nobody else may read unless its caller says so."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from pointsman.broker.destinations.durable import make_folder, sync_folder

DRAFT = ".draft"
"""Ends the names of files that are being written; a crash may leave one."""
PRIVATE = 0o600


def write_whole(path: Path, data: bytes, mode: int = PRIVATE) -> None:
    """Writes a file in the place of what is there, on disk when this returns; its folder is made.

    It is written under a new name that nobody can foresee, and renamed: a link at the path is replaced, not followed.
    Raises ``OSError``; then what was there before is still there.
    """
    make_folder(path.parent)
    with NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.stem}.", suffix=DRAFT, delete=False) as draft:
        try:
            os.fchmod(draft.fileno(), mode)
            draft.write(data)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).replace(path)
        except BaseException:
            Path(draft.name).unlink(missing_ok=True)
            raise
    sync_folder(path.parent)
