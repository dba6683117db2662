"""How the driver puts what the tasks have left into the queue, exactly once.

One transaction decides: it notes the batch as written, and which files belong to it. From then on the batch counts as
written, whatever happens. The messages are put in further transactions, each of which notes how far it came, so that
others can write in between; what was broken off is gone on with by whoever writes next. A batch that is replayed finds
itself noted, and what its tasks have written this time is thrown away.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pointsman.errors import StoreError
from pointsman.pipeline.queue_source import statements
from pointsman.pipeline.queue_source.drafts import Planned, planned
from pointsman.pipeline.queue_source.staging import discard, forgotten, left_behind, staged
from pointsman.store import statements as queue_statements
from pointsman.store.store import Store
from pointsman.store.transaction import Connection, Transaction

if TYPE_CHECKING:
    import pyarrow as pa

LOG = logging.getLogger("pointsman.pipeline")
WRITTEN = "pipeline-written"
"""The kind of state that says which batch of a query was written last."""
WRITING = "pipeline-writing"
"""The kind of state that says what of a write is not yet in the queue."""
MOST_ROWS = 5_000
"""Messages that one transaction puts at about the most."""


KEPT = 7 * 86_400.0
"""Seconds after which a file is removed that a program has left behind which was killed."""


class Rest(NamedTuple):
    """What of a write is not yet in the queue."""

    folder: str
    names: tuple[str, ...]
    done: int
    """Record batches that are."""


def commit(store: Store, folder: str, query: str, batch: int | None, names: Sequence[str]) -> bool:
    """Puts what these files hold; False if the batch was written before, and the files are thrown away.

    A ``batch`` of None stands for a write that is never repeated. Raises ``StoreError``; what was decided is gone on
    with by the next call, for whatever query.
    """
    _finish_others(store, query)
    rest = Rest(folder, tuple(names), 0)
    is_new = None
    while is_new is None:
        finish(store, query)
        is_new = store.write(partial(_decide, query=query, batch=batch, rest=rest))
    if is_new:
        finish(store, query)
    discard(folder, names if batch is None else [*names, *left_behind(folder, query, batch)])
    abandon(store, folder, forgotten(folder, store.settings.clock() - KEPT))
    return is_new


def abandon(store: Store, folder: str, names: Sequence[str]) -> None:
    """Throws away files of a write that failed, unless it was decided already."""
    kept = {name for query in _unfinished(store) if (rest := _current(store, query)) for name in rest.names}
    discard(folder, [name for name in names if name not in kept])


def finish(store: Store, query: str) -> None:
    """Puts what of a decided write is not yet in the queue. Several may do so at a time.

    Raises ``StoreError`` (``queue-elsewhere``) if its files are not there.
    """
    while (rest := _current(store, query)) is not None:
        try:
            for group in _groups(islice(staged(rest.folder, rest.names), rest.done, None)):
                after = rest._replace(done=rest.done + len(group))
                if not store.write(partial(_put, store, query=query, rest=rest, after=after, group=group)):
                    # Somebody else has done that much meanwhile, or all of it, and may have begun the next write.
                    break
                rest = after
            else:
                store.write(partial(_close, query=query, rest=rest))
                discard(rest.folder, rest.names)
        except StoreError as error:
            # Who has put the rest meanwhile has removed the files as well.
            if error.code != "queue-elsewhere" or _current(store, query) == rest:
                raise


def _finish_others(store: Store, query: str) -> None:
    """Goes on with the writes of other queries that were broken off; one of which files are missing is logged."""
    for other in _unfinished(store):
        if other == query:
            continue
        try:
            finish(store, other)
        except StoreError as error:
            if error.code != "queue-elsewhere":
                raise
            LOG.warning("a write to %s that was broken off cannot be gone on with: %s", store.path, error)


def _unfinished(store: Store) -> list[str]:
    with store.read() as connection:
        return [row[0] for row in connection.execute(statements.UNFINISHED, (WRITING,))]


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
    """Whether the batch is new, and then notes it; None if another write of the query must be finished before."""
    if _rest(transaction, query) is not None:
        return None
    if batch is not None:
        row = transaction.first(queue_statements.STATE_READ, (WRITTEN, query, ""))
        if row is not None and batch <= json.loads(row[0]):
            return False
        transaction.execute(queue_statements.STATE_WRITE, (WRITTEN, query, "", json.dumps(batch), None))
    if rest.names:
        _note(transaction, query, rest)
    return True


def _put(
    store: Store, transaction: Transaction, query: str, rest: Rest, after: Rest, group: Sequence[pa.RecordBatch]
) -> bool:
    """Puts a group of a write; False if the write has gone on since, or is another one."""
    if _rest(transaction, query) != rest:
        return False
    putter = store.putter(transaction)
    each: Planned
    for batch in group:
        for each in planned(batch):
            putter.put(each.draft, envelope=each.envelope)
    putter.finish()
    _note(transaction, query, after)
    return True


def _close(transaction: Transaction, query: str, rest: Rest) -> None:
    if _rest(transaction, query) == rest:
        transaction.execute(queue_statements.STATE_DELETE, (WRITING, query, ""))


def _note(transaction: Transaction, query: str, rest: Rest) -> None:
    transaction.execute(queue_statements.STATE_WRITE, (WRITING, query, "", json.dumps(rest), None))


def _current(store: Store, query: str) -> Rest | None:
    with store.read() as connection:
        return _rest(connection, query)


def _rest(connection: Connection | Transaction, query: str) -> Rest | None:
    row = next(iter(connection.execute(queue_statements.STATE_READ, (WRITING, query, ""))), None)
    if row is None:
        return None
    folder, names, done = json.loads(row[0])
    return Rest(folder, tuple(names), done)
