"""Saving what can be read: into a new file from a damaged one, and into a file from its own damaged log."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from pointsman.store import statements
from pointsman.store.commit_mark import Mark, MarkFile, make_side_file
from pointsman.store.doctor import questions
from pointsman.store.doctor.copying import FAILED, Copied, attached, changing, control_of, copy_all
from pointsman.store.doctor.finding import Action
from pointsman.store.doctor.mending import mend
from pointsman.store.doctor.rebuilding import rebuild
from pointsman.store.doctor.tail import read_mark
from pointsman.store.queue import Queue


def salvage(path: Path, code: str) -> list[Action]:
    """Copies all that can be read into a new file beside the damaged one, which is left as it is."""
    target = free_name(f"{path}-salvaged")
    with TemporaryDirectory(dir=path.absolute().parent) as directory:
        copied = Copied(0, 0, ())
        for whole_page in (False, True):
            source = rebuild(path, Path(directory), whole_page=whole_page)
            copied = _copy(path, source, target)
            if copied.messages:
                break
    done = f"copied {copied.messages:,} messages into {target.name}"
    actions = [Action(code, done, copied.messages, str(target), is_salvage=True)]
    if copied.missing:
        which = ", ".join(copied.ranges)
        done = f"found no message of the numbers {which}: they cannot be read, or were pruned before"
        actions.append(Action("unreadable-message", done, copied.missing))
    if copied.messages:
        with Queue(target) as queue:
            actions += mend(queue)
    return actions


def _copy(path: Path, source: Path, target: Path) -> Copied:
    """Copies from a file that SQLite may not open, after all; then there is nothing."""
    for each in (target, *(Path(f"{target}{suffix}") for suffix in ("-wal", "-shm", "-mark"))):
        each.unlink(missing_ok=True)
    # An empty file is a new queue; who may not read the damaged one may not read this one either.
    os.close(make_side_file(target, path))
    mark = read_mark(path)
    control = None
    with suppress(*FAILED):
        control = control_of(source)
    with Queue(target, dialect=None if control is None else control.dialect):
        pass
    least = max(0 if mark is None else mark.sequence, 0 if control is None else control.sequence)
    try:
        with attached(target, source) as connection:
            connection.execute(questions.UNSYNCED)
            if control is not None:
                connection.execute(questions.CONTROL_TAKE_OVER, (control.file, control.time, control.shift))
            copied = copy_all(connection, 0, least, state=True)
    except FAILED:
        return Copied(0, 0, ())
    write_mark(target)
    return copied


def keep_log(path: Path) -> Action | None:
    """Keeps a copy of the log, which to open the file would clear away; None if there is no log."""
    log = Path(f"{path}-wal")
    if not log.exists() or not log.stat().st_size:
        return None
    kept = free_name(f"{path}-wal-damaged")
    with log.open("rb") as source, os.fdopen(make_side_file(kept, path), "wb") as file:
        shutil.copyfileobj(source, file)
    return Action("log-broken", f"kept the log as {kept.name}", 1, str(kept))


def put_back(path: Path, least: int) -> Action:
    """Puts messages back that only the part of the log holds that SQLite ignores; ``least`` is the mark's number."""
    with TemporaryDirectory(dir=path.absolute().parent) as directory:
        source = rebuild(path, Path(directory))
        with attached(path, source) as connection:
            after = next(iter(connection.execute(statements.CONTROL_READ)))[1]
            copied = copy_all(connection, after, max(least, after), state=False)
    done = f"put {copied.messages:,} messages back that were in the part of the log that SQLite ignores"
    return Action("log-broken", done, copied.messages)


def write_mark(path: Path) -> None:
    """Makes the mark say what the file says."""
    with changing(path) as connection:
        found = Mark._make(next(iter(connection.execute(statements.CONTROL_READ)))[:2])
    mark = MarkFile(path)
    try:
        mark.write(*found)
    finally:
        mark.close()


def free_name(wanted: str) -> Path:
    """A path that is not taken: the wanted one, or that with a number behind it."""
    path, number = Path(wanted), 1
    while os.path.lexists(path):
        number += 1
        path = Path(f"{wanted}-{number}")
    return path
