"""A folder that appears whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from pointsman.errors import InputError


@contextmanager
def new_folder(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A folder beside the path, to be written to; it is renamed to the path when the block ends well.

    If the block raises, it is removed, and the path is as it was before. With ``overwrite``, what was at the path is
    removed after the new folder is in its place. Raises ``InputError``: ``folder-exists`` when there is something at
    the path and it is not to be overwritten, ``no-file`` when no folder can be made beside it.
    """
    path = path.absolute()
    check_free(path, overwrite=overwrite)
    draft = path.with_name(f".{path.name}-{uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.mkdir()
    except OSError as error:
        raise InputError("no-file", f"it cannot be written: {error.strerror}", file=str(path)) from None
    try:
        yield draft
        check_free(path, overwrite=overwrite)
        _put(draft, path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_free(path: Path, *, overwrite: bool) -> None:
    """Raises ``InputError``, if there is something at a path that may not be overwritten."""
    if path.is_dir() and overwrite:
        return
    if path.exists() or path.is_symlink():
        what = "there is a folder already" if path.is_dir() else "there is a file in its place, which is no folder"
        raise InputError("folder-exists", what, file=str(path))


def _put(draft: Path, path: Path) -> None:
    if not path.exists():
        draft.rename(path)
        return
    old = draft.with_name(f"{draft.name}-old")
    path.rename(old)
    try:
        draft.rename(path)
    except OSError:
        old.rename(path)
        raise
    shutil.rmtree(old, ignore_errors=True)
