"""The import: chunk by chunk, each in one transaction together with how far it got."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pointsman.errors import StoreError
from pointsman.store.migrate import statements
from pointsman.store.migrate.convert import Change, Storing, Terms
from pointsman.store.migrate.source import AUTO, Source, SourceRow, State, Status, fingerprint_with, opened
from pointsman.store.queue import Queue
from pointsman.store.store import Store
from pointsman.store.transaction import Transaction

SAMPLES = 5
"""How many values of each change are named."""


class Tally:
    """Counts of what was taken over, which are stored with it, so that those of an import that was killed go on."""

    def __init__(self) -> None:
        self.statuses: Counter[Status] = Counter()
        self.states: Counter[State] = Counter()
        self.changes: Counter[Change] = Counter()
        self.samples: dict[Change, list[str]] = {}

    @property
    def total(self) -> int:
        """How many messages were taken over."""
        return self.states.total()

    def add(self, status: Status, state: State, changes: tuple[tuple[Change, str], ...]) -> None:
        """Counts one message."""
        self.statuses[status] += 1
        self.states[state] += 1
        for change, value in changes:
            self.changes[change] += 1
            samples = self.samples.setdefault(change, [])
            if len(samples) < SAMPLES and value not in samples:
                samples.append(value)

    def as_text(self) -> str:
        """The counts as text, which ``from_text`` reads."""
        changes = {change.name: [count, self.samples[change]] for change, count in self.changes.items()}
        return json.dumps({"statuses": self.statuses, "states": self.states, "changes": changes})

    @classmethod
    def from_text(cls, text: str) -> Tally:
        """The counts that ``as_text`` wrote."""
        data = json.loads(text)
        tally = cls()
        tally.statuses.update({Status(name): count for name, count in data["statuses"].items()})
        tally.states.update({State(name): count for name, count in data["states"].items()})
        for name, (count, samples) in data["changes"].items():
            tally.changes[Change[name]] = count
            tally.samples[Change[name]] = samples
        return tally


class Changed(NamedTuple):
    """Messages that were not taken over as they were."""

    change: Change
    messages: int
    samples: tuple[str, ...]
    """The first values that were changed."""

    def as_dict(self) -> dict[str, object]:
        """For ``--json``."""
        code = self.change.name.lower()
        return {"code": code, "what": self.change.value, "messages": self.messages, "samples": list(self.samples)}


class ImportReport(NamedTuple):
    """What an import did, with all that earlier runs of it did."""

    source: str
    kind: str
    table: str
    rows: int
    """Messages in the source."""
    already: int
    """Taken over by earlier runs."""
    read: int
    """Taken over by this run."""
    statuses: dict[Status, int]
    """What they were in the source."""
    states: dict[State, int]
    """What they are now."""
    changed: tuple[Changed, ...]
    adds_up: bool
    """Whether the source, counted by SQLite, has as many messages of each status as were taken over."""

    def as_dict(self) -> dict[str, object]:
        """For ``--json``."""
        return {
            **self._asdict(),
            "statuses": {status.value: count for status, count in self.statuses.items()},
            "states": {state.value: count for state, count in self.states.items()},
            "changed": [each.as_dict() for each in self.changed],
        }


def changed_of(tally: Tally) -> tuple[Changed, ...]:
    """The changes that were counted, in the order in which they are declared."""
    return tuple(
        Changed(change, tally.changes[change], tuple(tally.samples[change]))
        for change in Change
        if tally.changes[change]
    )


# -- the import: chunk by chunk, each in one transaction together with how far it got


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
