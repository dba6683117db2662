"""What a table remembers between micro-batches, kept in the checkpoint: a file for each batch.

    <checkpoint>/pointsman/begun/7.json    the versions that batch 7 works with, written before it begins
    <checkpoint>/pointsman/state/7.json    the state that batch 7 left, and its versions, written before it is committed

A batch begins with the state that the one before it left. If it is replayed, after a crash at any moment, it begins
with the same state and the same versions, so that it decides the same. The last ``KEPT`` of each are kept. A file
appears whole or not at all; what a crash left of one that was being written is overlooked, and removed by the next.

The checkpoint must be a folder of a file system that is mounted where the driver runs, and where it may be restarted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from pointsman.errors import InputError
from pointsman.pipeline.spark.files import DRAFT, write_whole
from pointsman.routing.state_codec import is_plain
from pointsman.table.state import State

KEPT = 100
KIND = "batch/1"
Checkpoint = str | Path
Versions = Mapping[str, object]
"""By their names: the hash of the table, the version of the subscriptions, and whatever else a batch depends on."""


class _Kept(msgspec.Struct, forbid_unknown_fields=True):
    """What the file of a batch holds."""

    kind: Literal["batch/1"]
    batch: int
    state: list[Any]
    versions: list[tuple[str, Any]]


def begin(checkpoint: Checkpoint, batch_id: int, versions: Versions) -> dict[str, object]:
    """The versions that a batch works with: those with which it was begun before, if it was, and else these.

    They are on disk when this returns. Raises ``InputError``: ``bad-usage`` for versions that JSON cannot carry and for
    a checkpoint that is not a path, ``bad-state`` for a file that holds something else. Raises ``OSError``.
    """
    folder = _folder(checkpoint, "begun")
    known = _read(folder, batch_id)
    if known is not None:
        return known[1]
    _write(folder, batch_id, State(), versions)
    return dict(versions)


def load(checkpoint: Checkpoint, batch_id: int) -> State:
    """The state that a batch begins with: what the last recorded batch before it left, or a new one if there is none.

    Raises ``InputError``: ``bad-state`` when what was before it is not kept any more, or when a file holds something
    else, ``bad-usage`` for a checkpoint that is not a path.
    """
    folder = _folder(checkpoint, "state")
    batches = _batches(folder)
    before = [each for each in batches if each < batch_id]
    if before:
        found = _read(folder, max(before))
        if found is not None:
            return found[0]
    if batch_id > 0 and len(batches) >= KEPT:
        problem = f"the state before batch {batch_id} is not kept any more; the first that is kept is {min(batches)}"
        raise InputError("bad-state", problem, file=str(folder))
    return State()


def record(checkpoint: Checkpoint, batch_id: int, state: State, versions: Versions) -> None:
    """Keeps the state that a batch left, and the versions it worked with; takes the place of what was kept for it.

    To be called when the batch is done, and before Spark commits it. It is on disk when this returns. Raises as
    ``begin`` does; then what was kept before is still there.
    """
    _write(_folder(checkpoint, "state"), batch_id, state, versions)


def recorded(checkpoint: Checkpoint, batch_id: int) -> tuple[State, dict[str, object]] | None:
    """The state that a batch left and the versions it worked with; None if that is not kept. Raises as ``load``."""
    return _read(_folder(checkpoint, "state"), batch_id)


def last_begun(checkpoint: Checkpoint) -> int:
    """The last batch that was begun; -1 if none was."""
    return max(_batches(_folder(checkpoint, "begun")), default=-1)


def forget_after(checkpoint: Checkpoint, batch_id: int) -> None:
    """Forgets all batches after this one, of which Spark knows nothing any more."""
    for folder in (_folder(checkpoint, "begun"), _folder(checkpoint, "state")):
        for later in (each for each in _batches(folder) if each > batch_id):
            (folder / f"{later}.json").unlink(missing_ok=True)


def mounted(path: str | Path) -> Path:
    """A path that Spark may know by a URL, as one of this machine. Raises ``InputError`` (``bad-usage``) if it is none.

    >>> str(mounted("file:///data/checkpoint"))
    '/data/checkpoint'
    """
    text = str(path)
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:", text):
        parts = urlsplit(text)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
            raise InputError("bad-usage", f"the state must lie in a folder that is mounted here, not at {text!r}")
        text = unquote(parts.path)
    return Path(text)


def _folder(checkpoint: Checkpoint, name: str) -> Path:
    return mounted(checkpoint) / "pointsman" / name


def _batches(folder: Path) -> list[int]:
    return [int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal()]


def _read(folder: Path, batch_id: int) -> tuple[State, dict[str, object]] | None:
    """What the file of a batch holds; None if there is no such file."""
    path = folder / f"{batch_id}.json"
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        if kept.batch != batch_id:
            raise InputError("bad-state", "it is that of another batch", file=str(path))
        return State.from_data(kept.state), dict(kept.versions)
    except FileNotFoundError:
        return None
    except InputError as error:
        raise InputError(error.code, error.problem, file=str(path)) from None
    except ValueError as error:
        raise InputError("bad-state", f"it is not what a batch leaves: {error}", file=str(path)) from None


def _write(folder: Path, batch_id: int, state: State, versions: Versions) -> None:
    """Writes the file of a batch; removes what a crash left, and of the batches up to it all but the last ``KEPT``."""
    if not is_plain(dict(versions)):
        raise InputError("bad-usage", f"the versions of a batch are plain values by their names, not {versions!r}")
    data = {"kind": KIND, "batch": batch_id, "state": state.as_data(), "versions": [*map(list, versions.items())]}
    write_whole(folder / f"{batch_id}.json", json.dumps(data, indent=1).encode())
    old = sorted(each for each in _batches(folder) if each <= batch_id)[:-KEPT]
    for path in [*folder.glob(f"*{DRAFT}"), *(folder / f"{each}.json" for each in old)]:
        path.unlink(missing_ok=True)
