"""The identity of a run: what a checkpoint has done so far, and all that was written by it, belong together.

    <checkpoint>/pointsman/run.json     the identity, made with the checkpoint

Queues remember the batches of an identity, and folders hold those of one, so that another run, whose batches have the
same numbers, neither loses its messages nor replaces what is there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from pointsman.errors import InputError
from pointsman.pipeline import batch_state
from pointsman.pipeline.delivering.claims import COMMANDS
from pointsman.pipeline.whole_file import write_whole

ROUTE, FOLLOW = "route", "follow"
"""The queries of a run, and their folders in the checkpoint."""
SUBSCRIPTIONS = "subscriptions"
"""The folder, in the checkpoint, of their versions."""


def identity_of(checkpoint: Path) -> str:
    """The identity of the run that a checkpoint belongs to. A checkpoint without progress gets a new one.

    So does one of which Spark's progress (``offsets`` and ``commits``) was removed: its batches are numbered anew, and
    what was kept of them is forgotten. To be called by one run at a time. Raises ``InputError``
    (``checkpoint-incomplete``) if other parts of the progress are missing.
    """
    known = known_identity(checkpoint)
    planned = {query: _last(checkpoint / query / "offsets") for query in (ROUTE, FOLLOW)}
    for query, folder in _queries(checkpoint):
        _check(checkpoint, query, folder, planned[query])
    if known is None or any(batch_state.last_begun(folder) > planned[query] for query, folder in _queries(checkpoint)):
        known = str(uuid4())
        _write(checkpoint, known)
        for query, folder in _queries(checkpoint):
            batch_state.forget_after(folder, planned[query])
            batch_state.forget_after(folder / SUBSCRIPTIONS, planned[query])
    if known_identity(checkpoint / COMMANDS) != known:
        # It tells, later, that what is kept of the commands is all there.
        _write(checkpoint / COMMANDS, known)
    return known


def known_identity(checkpoint: Path) -> str | None:
    """The identity that a checkpoint has. Raises ``InputError`` (``bad-state``) if the file holds something else."""
    path = _path(checkpoint)
    try:
        return str(json.loads(path.read_bytes())["run"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise InputError("bad-state", "it is no identity of a run", file=str(path)) from None


def _queries(checkpoint: Path) -> Iterator[tuple[str, Path]]:
    """The queries, and the folder in which each keeps what Spark does not."""
    yield ROUTE, checkpoint
    yield FOLLOW, checkpoint / COMMANDS


def _check(checkpoint: Path, query: str, folder: Path, planned: int) -> None:
    """Raises ``InputError`` if something is missing of the batches that a query has planned."""
    committed = _last(checkpoint / query / "commits")
    if committed > planned:
        problem = f"batch {committed} is committed, and its offsets are gone"
        raise InputError("checkpoint-incomplete", problem, file=str(checkpoint / query / "offsets"))
    if planned < 0:
        return
    missing = None if _path(folder).exists() else folder / "pointsman"
    if query == ROUTE and committed >= 0 and batch_state.recorded(folder, committed) is None:
        missing = folder / "pointsman" / "state"
    if missing is not None:
        problem = f"batch {planned} was begun, and what was kept of it is gone: turns of balances, breakers, versions"
        raise InputError("checkpoint-incomplete", problem, file=str(missing))


def _last(folder: Path) -> int:
    """The last batch that Spark has a file of in a folder; -1 if there is none."""
    if not folder.is_dir():
        return -1
    return max((int(path.name) for path in folder.iterdir() if path.name.isdecimal()), default=-1)


def _path(folder: Path) -> Path:
    return folder / "pointsman" / "run.json"


def _write(folder: Path, identity: str) -> None:
    write_whole(_path(folder), json.dumps({"run": identity}).encode())
