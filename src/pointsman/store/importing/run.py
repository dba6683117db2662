"""The import: chunk by chunk, each in one transaction together with how far it got."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pointsman.errors import StoreError
from pointsman.store.importing import statements
from pointsman.store.importing.kinds import AUTO, Status
from pointsman.store.importing.opening import opened
from pointsman.store.importing.report import ImportReport, Tally, changed_of
from pointsman.store.importing.source import Source, SourceRow, fingerprint_with
from pointsman.store.importing.storing import Storing
from pointsman.store.importing.terms import Terms
from pointsman.store.queue import Queue
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction

CHUNK = 1000
"""Messages that share a transaction, at most."""
CHUNK_BYTES = 16 * 1024 * 1024
"""Data that is held in memory at a time, but for a single message that is larger."""
Progress = Callable[[int, int], None]
"""Called with how many messages are taken over, and how many there are."""


class Reached(NamedTuple):
    """How far an import got."""

    position: int | None = None
    """The last row that was taken over; None before the first."""
    fingerprint: int = 0
    tally: str = Tally().as_text()


def import_database(
    queue: Queue,
    source: str | Path,
    *,
    table: str | None = None,
    kind: str = AUTO,
    key: str | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Takes over the messages of a MiniQ or litequeue database into a queue, and says what became of them.

    Nothing is lost: what cannot be as it was becomes a dead letter with its reason, and is reported. The source is only
    read. One that is broken off at any instant has taken over the first messages; called again, it goes on behind them.
    ``key`` is the routing key of messages without a topic; without it, that is the empty one, or ``no-topic`` in a
    dialect that has no empty one.

    Raises ``StoreError``: ``no-file``, ``source-not-queue``, ``source-tables``, ``source-locked``, ``source-damaged``,
    ``source-changed``, and those of ``Queue.put``; ``InputError`` (``bad-usage``) for a kind that there is not; and
    ``SubjectError`` for a ``key`` that the dialect refuses.
    """
    with opened(Path(source), queue.settings.busy_timeout) as database:
        return _Import(queue.store, Source(database, table, kind), key).run(progress)


class _Import:
    def __init__(self, store: Store, source: Source, key: str | None) -> None:
        self._store = store
        self._source = source
        self._terms = Terms(source.kind, store.dialect, key)
        self._identity = source.identity()

    def run(self, progress: Progress | None) -> ImportReport:
        reached = self._store.write(self._begin)
        self._check_unchanged(reached)
        already = Tally.from_text(reached.tally)
        expected = self._source.counts(reached.position)
        total = already.total + sum(expected.values())
        for chunk in _chunks(self._source.rows(reached.position)):
            if progress is not None:
                progress(Tally.from_text(reached.tally).total, total)
            reached = self._take(chunk, reached)
        tally = Tally.from_text(reached.tally)
        if progress is not None:
            progress(tally.total, total)
        return ImportReport(
            self._source.path,
            self._source.kind.name,
            self._source.table,
            total,
            already.total,
            tally.total - already.total,
            {status: tally.statuses[status] for status in Status if tally.statuses[status]},
            dict(sorted(tally.states.items())),
            changed_of(tally),
            tally.statuses == already.statuses + Counter(expected) and tally.total == total,
        )

    def _begin(self, transaction: Transaction) -> Reached:
        """How far earlier runs got. Raises if they read something else from the same file."""
        transaction.execute(statements.IMPORTED_TABLE)
        rows = list(transaction.rows(statements.IMPORTED_FIND, (self._identity, self._source.file)))
        if not rows:
            return Reached()
        for row in rows:
            if row[0] == self._identity:
                return Reached(*row[1:])
        raise self._changed("the messages that were taken over from it before are no longer the first in it")

    def _check_unchanged(self, reached: Reached) -> None:
        """Raises unless what was taken over before is still there, so that what follows is what was not."""
        if reached.position is None:
            return
        taken = Tally.from_text(reached.tally).total
        if self._source.fingerprint(reached.position) != (reached.fingerprint, taken):
            raise self._changed(f"of the {taken:,} messages that were taken over from it before, some are gone")

    def _take(self, chunk: list[SourceRow], before: Reached) -> Reached:
        taken = [self._terms.take(row) for row in chunk]
        fingerprint = before.fingerprint
        for row in chunk:
            fingerprint = fingerprint_with(fingerprint, row.position, row.id)

        def operation(transaction: Transaction) -> Reached:
            if self._begin(transaction) != before:
                raise StoreError("source-locked", "another import of it is under way", file=self._source.path)
            tally = Tally.from_text(before.tally)
            storing = Storing(self._store, transaction)
            for row, each in zip(chunk, taken, strict=True):
                tally.add(self._source.kind.status(row.number), each.state, storing.store(each))
            reached = Reached(chunk[-1].position, fingerprint, tally.as_text())
            transaction.execute(statements.IMPORTED_WRITE, (self._identity, self._source.file, *reached))
            self._source.check()
            return reached

        return self._store.write(operation)

    def _changed(self, problem: str) -> StoreError:
        return StoreError("source-changed", problem, file=self._source.path)


def _chunks(rows: Iterator[SourceRow]) -> Iterator[list[SourceRow]]:
    chunk: list[SourceRow] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += len(row.data)
        if len(chunk) >= CHUNK or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
