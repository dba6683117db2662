"""Staged files, and the commit that puts them into the queue exactly once.

Each task writes one file of Arrow record batches to the staging folder and tells the driver its name. Only the driver
writes to the queue, so tasks may run on other hosts if they share the folder.

One transaction decides: it records the batch as written, with the files that belong to it. From then on it counts as
written. Further transactions put the messages, group by group, and record how far they came, so that other writers get
their turn. The next writer, of any query, resumes a write that was interrupted. A replayed batch finds itself recorded,
and its new files are deleted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from pointsman.destinations.file import sync_folder
from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import sql
from pointsman.pipeline.queue_source.rows import drafts
from pointsman.store import statements
from pointsman.store.store import Store
from pointsman.store.transaction import Connection, Transaction

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("pointsman.pipeline")
WRITTEN = "pipeline-written"
"""The kind of state that says which batch of a query was written last."""
WRITING = "pipeline-writing"
"""The kind of state that says what part of a write is not yet in the queue."""
MOST_ROWS = 5_000
"""Messages that one transaction puts at about the most, and one record batch of a file has at most."""
MOST_BYTES = 4 * 1024 * 1024
KEPT = 7 * 86_400.0
"""Seconds after which a file is removed that a killed program has left behind."""
SUFFIX = ".arrow"


# -- the files


def stage(
    folder: str, query: str, batch: int, batches: Iterable[pa.RecordBatch], check: Callable[[pa.RecordBatch], None]
) -> str | None:
    """Writes record batches to a new file, each after it was checked; returns its name, or None if there was no row.

    The file is on the disk when this returns. If it raises, there is none.
    """
    import pyarrow as pa

    path = Path(folder, f"{_stem(query)}-{batch}-{secrets.token_hex(8)}{SUFFIX}")
    parts = (part for each in batches for part in _parts(each))
    try:
        first = next(parts, None)
        if first is None:
            return None
        check(first)
        with _new_file(path) as file:
            with pa.ipc.new_stream(file, first.schema) as writer:
                writer.write_batch(first)
                for part in parts:
                    check(part)
                    writer.write_batch(part)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, StoreError):
            problem = f"what is to be put cannot be left there: {error}; see the option 'staging'"
            raise StoreError("queue-elsewhere", problem, file=folder) from error
        raise
    return path.name


def staged(folder: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The record batches of files, in their order. Raises ``StoreError`` (``queue-elsewhere``) if one is not there."""
    import pyarrow as pa

    for name in names:
        try:
            with pa.OSFile(str(Path(folder, name))) as file, pa.ipc.open_stream(file) as reader:
                yield from reader
        except FileNotFoundError:
            problem = f"the driver does not find {name}, which a task has left there; see the option 'staging'"
            raise StoreError("queue-elsewhere", problem, file=folder) from None


def _discard(folder: str, names: Iterable[str]) -> None:
    """Removes files that are still there. An empty folder goes with the last of them."""
    for name in names:
        Path(folder, name).unlink(missing_ok=True)
    with suppress(OSError):
        Path(folder).rmdir()


def _left_behind(folder: str, query: str, batch: int) -> list[str]:
    """The files of a query from this batch and before."""
    found = sorted(path.name for path in Path(folder).glob(f"{_stem(query)}-*{SUFFIX}"))
    return [name for name in found if (number := name.split("-")[1]).isdigit() and int(number) <= batch]


def _forgotten(folder: str, before: float) -> list[str]:
    """The files that were last written before a time, in seconds since 1970."""
    found = []
    for path in Path(folder).glob(f"*{SUFFIX}"):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before:
                found.append(path.name)
    return found


def _stem(query: str) -> str:
    """What the names of a query's files begin with."""
    return hashlib.sha256(query.encode()).hexdigest()[:24]


def _new_file(path: Path) -> BinaryIO:
    """A new file, in a folder that another process may remove whenever it is empty."""
    while True:
        path.parent.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):
            return path.open("xb")


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A record batch in parts that are small enough to be put in one transaction."""
    rows = max(1, min(MOST_ROWS, batch.num_rows * MOST_BYTES // max(batch.nbytes, 1)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


# -- the commit


class Rest(NamedTuple):
    """The part of a write that is not yet in the queue."""

    folder: str
    names: tuple[str, ...]
    done: int
    """Record batches that are in the queue."""


def commit(store: Store, folder: str, query: str, batch: int | None, names: Sequence[str]) -> bool:
    """Puts the messages of these files; returns False, and deletes the files, if the batch was written before.

    A ``batch`` of None stands for a write that is never repeated. Raises ``StoreError``; the next call, for any query,
    resumes what was decided.
    """
    _finish_others(store, query)
    rest = Rest(folder, tuple(names), 0)
    is_new = None
    while is_new is None:
        finish(store, query)
        is_new = store.write(partial(_decide, query=query, batch=batch, rest=rest))
    if is_new:
        finish(store, query)
    _discard(folder, names if batch is None else [*names, *_left_behind(folder, query, batch)])
    abandon(store, folder, _forgotten(folder, store.settings.clock() - KEPT))
    return is_new


def abandon(store: Store, folder: str, names: Sequence[str]) -> None:
    """Deletes the files of a write that failed, unless it was decided already."""
    kept = {name for query in _unfinished(store) if (rest := _current(store, query)) for name in rest.names}
    _discard(folder, [name for name in names if name not in kept])


def finish(store: Store, query: str) -> None:
    """Puts the rest of a decided write. Several processes may do so at a time.

    Raises ``StoreError`` (``queue-elsewhere``) if its files are not there.
    """
    while (rest := _current(store, query)) is not None:
        try:
            for group in _groups(islice(staged(rest.folder, rest.names), rest.done, None)):
                after = rest._replace(done=rest.done + len(group))
                if not store.write(partial(_put, store, query=query, rest=rest, after=after, group=group)):
                    # Another process has put this group meanwhile, or all of them, and may have begun the next write.
                    break
                rest = after
            else:
                store.write(partial(_close, query=query, rest=rest))
                _discard(rest.folder, rest.names)
        except StoreError as error:
            # A process that has put the rest meanwhile has deleted the files as well.
            if error.code != "queue-elsewhere" or _current(store, query) == rest:
                raise


def _finish_others(store: Store, query: str) -> None:
    """Resumes the interrupted writes of other queries; logs one whose files are missing."""
    for other in _unfinished(store):
        if other == query:
            continue
        try:
            finish(store, other)
        except StoreError as error:
            if error.code != "queue-elsewhere":
                raise
            LOG.warning("cannot resume an interrupted write to %s: %s", store.path, error)


def _unfinished(store: Store) -> list[str]:
    """The queries with a write that is not finished."""
    with store.read() as connection:
        return [row[0] for row in connection.execute(sql.UNFINISHED, (WRITING,))]


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Record batches, as many at a time as one transaction should put."""
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        group.append(batch)
        rows += batch.num_rows
        if rows >= MOST_ROWS:
            yield group
            group, rows = [], 0
    if group:
        yield group


def _decide(transaction: Transaction, query: str, batch: int | None, rest: Rest) -> bool | None:
    """Records the batch if it is new, and returns whether it is; None if another write of the query comes first."""
    if _rest(transaction, query) is not None:
        return None
    if batch is not None:
        row = transaction.first(statements.STATE_READ, (WRITTEN, query, ""))
        if row is not None and batch <= json.loads(row[0]):
            return False
        transaction.execute(statements.STATE_WRITE, (WRITTEN, query, "", json.dumps(batch), None))
    if rest.names:
        _note(transaction, query, rest)
    return True


def _put(
    store: Store, transaction: Transaction, query: str, rest: Rest, after: Rest, group: Sequence[pa.RecordBatch]
) -> bool:
    """Puts a group of a write; False if the write has moved on since, or is another one."""
    if _rest(transaction, query) != rest:
        return False
    putter = store.putter(transaction)
    for batch in group:
        for draft, envelope in drafts(batch):
            putter.put(draft, envelope=envelope)
    putter.finish()
    _note(transaction, query, after)
    return True


def _close(transaction: Transaction, query: str, rest: Rest) -> None:
    if _rest(transaction, query) == rest:
        transaction.execute(statements.STATE_DELETE, (WRITING, query, ""))


def _note(transaction: Transaction, query: str, rest: Rest) -> None:
    transaction.execute(statements.STATE_WRITE, (WRITING, query, "", json.dumps(rest), None))


def _current(store: Store, query: str) -> Rest | None:
    with store.read() as connection:
        return _rest(connection, query)


def _rest(connection: Connection | Transaction, query: str) -> Rest | None:
    row = next(iter(connection.execute(statements.STATE_READ, (WRITING, query, ""))), None)
    if row is None:
        return None
    folder, names, done = json.loads(row[0])
    return Rest(folder, tuple(names), done)
