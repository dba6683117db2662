"""A queue's file as one process has it open: one connection that writes, one that reads, and what both know."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock, get_ident
from typing import Any

import apsw

from pointsman.errors import PointsmanError, StoreError
from pointsman.patterns.dialect import Dialect, find_dialect
from pointsman.store import fork, statements
from pointsman.store.commit_mark import Mark, MarkFile, mark_path, parse_mark, read_side_file
from pointsman.store.connection import MEMORY, MOVED, Place, open_connection, prepare, translated
from pointsman.store.keys import Keys
from pointsman.store.lease import Taker
from pointsman.store.maintenance import Retention
from pointsman.store.pattern_pop import Interests
from pointsman.store.put import PutSettings, Putter
from pointsman.store.quick import Quick
from pointsman.store.room import Room
from pointsman.store.settings import QueueSettings
from pointsman.store.settle import Settler
from pointsman.store.subscriptions import Subscriptions
from pointsman.store.transaction import SECOND, Transaction
from pointsman.store.wakeup import Bell, OwnBoard
from pointsman.store.writer import Operation, Request, Result, Writer

LOG = logging.getLogger("pointsman.store")


class Store:
    """The file, open. Safe between threads; a process that was forked opens the file anew when it first uses it."""

    def __init__(self, path: str | Path, settings: QueueSettings) -> None:
        # One file is one queue, whatever links lead to it: what is beside it is named by where it really is.
        try:
            self.path = MEMORY if str(path) == MEMORY else os.path.realpath(os.fsdecode(path))
            is_special = self.path != MEMORY and Path(self.path).exists() and not Path(self.path).is_file()
        except ValueError as error:
            raise StoreError("store-not-opened", f"no file can have this name: {error}") from error
        except OSError as error:
            raise StoreError("store-not-opened", str(error.strerror), file=os.fsdecode(path)) from error
        if is_special:
            raise StoreError("store-not-opened", "it is no regular file", file=self.path)
        self.settings = settings
        self._closed = False
        self._inode: int | None = None
        self._opening = Lock()
        self._to_open = False
        self._paused: ExitStack | None = None
        self._left_behind: list[object] = []
        if settings.dialect is not None:
            find_dialect(settings.dialect)
        self._open()
        fork.OPEN.add(self)

    def _open(self) -> None:
        settings = self.settings
        self._lock = Lock()
        self._mark: MarkFile | None = None
        if self._inode is None:
            connection = open_connection(self.path, settings.durability, settings.busy_timeout)
        else:
            connection = self._connect_again()
        try:
            self._inode = self._find_inode()
            self._check_not_emptied(connection)
            self.file, dialect = prepare(connection, self.path, settings.dialect)
            self.dialect = _known_dialect(dialect, self.path)
            if self.path != MEMORY:
                self._mark = _open_mark(self.path)
            self._check_mark(connection)
        except BaseException:
            connection.close()
            if self._mark is not None:
                self._mark.close()
            raise
        self._bell = Bell(None if self.path == MEMORY else self.path, self._mark or OwnBoard())
        self._reader: apsw.Connection | None = None
        self._reading = Lock()
        self._reads: int | None = None
        """The thread that reads."""
        # Who does not wait for the disk gains nothing from it.
        has_room = settings.durability == "full" and self.path != MEMORY
        self._room = Room(connection, self.path) if has_room else None
        self.writer = Writer(connection, self.path, settings.clock, self._committed, self.forget, self._room)
        self.keys = Keys(self.dialect)
        self.subscriptions = Subscriptions(self.dialect)
        self.interests = Interests()
        self.settler = Settler(self.subscriptions, settings.max_attempts, settings.backoff, settings.random)
        self.taker = Taker(self.file, self.settler)
        self._putting = PutSettings(settings.main, settings.max_bytes, settings.maxsize, int(settings.dedupe * SECOND))
        kept = None if settings.retention is None else int(settings.retention * SECOND)
        self.retention = Retention(kept, self._putting.dedupe, settings.clock)
        self.quick = Quick(
            self.writer, settings.clock, self.keys, self.subscriptions, self.taker, self._putting, self._tell
        )

    def _find_inode(self) -> int:
        """The number of the file. Raises ``StoreError`` (``store-linked``) if it has several names."""
        if self.path == MEMORY:
            return 0
        about = Path(self.path).stat()
        if about.st_nlink > 1:
            raise StoreError("store-linked", f"the file has {about.st_nlink} names (hard links)", file=self.path)
        return about.st_ino

    def _connect_again(self) -> apsw.Connection:
        """Another connection to the same file. Raises ``StoreError`` (``store-moved``) if that is not there."""
        found = Path(self.path)
        if not found.exists() or found.stat().st_ino != self._inode:
            raise StoreError("store-moved", MOVED, file=self.path)
        return open_connection(self.path, self.settings.durability, self.settings.busy_timeout, new=False)

    def _check_not_emptied(self, connection: apsw.Connection) -> None:
        """Before tables are made: a log of which SQLite reads nothing must not be written over."""
        if self.path == MEMORY:
            return
        mark = parse_mark(read_side_file(mark_path(self.path)) or b"")
        with translated(self.path):
            is_empty = connection.execute(statements.ANY_TABLE).fetchone() is None
            if mark is not None and mark.commits and is_empty:
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                problem = f"the mark says that {mark.commits:,} transactions were committed, and the file is empty"
                raise StoreError("store-lost-tail", problem, file=self.path)

    def _check_mark(self, connection: apsw.Connection) -> None:
        mark = None if self._mark is None else self._mark.read()
        with translated(self.path):
            row = next(iter(connection.execute(statements.CONTROL_READ)), ())
        if not row or not all(isinstance(number, int) for number in row):
            raise StoreError("store-damaged", "what each transaction begins with cannot be read", file=self.path)
        if mark is None:
            return
        found = Mark(row[0], row[1])
        if found.commits < mark.commits:
            problem = (
                f"{mark.commits - found.commits:,} transactions that were committed are missing: the mark says "
                f"{mark.commits:,} and message {mark.sequence:,}, the file {found.commits:,} and {found.sequence:,}"
            )
            if self.settings.durability == "normal":
                # What a loss of power may do then; nobody was promised more.
                LOG.warning("%s: %s", self.path, problem)
                return
            # The log is the only other trace of what is missing: to close the file must not clear it away.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            raise StoreError("store-lost-tail", problem, file=self.path)

    def write(self, operation: Operation[Result]) -> Result:
        """What the operation gives, once it is on disk; together with those of other threads, in one transaction.

        Raises what it raises, and ``StoreError``; then nothing of it is left.
        """
        self.check_open()
        return self.writer.run(operation)

    def write_many(self, operations: Sequence[Operation[Any]]) -> list[Request[Any]]:
        """Runs operations that may each fail by itself in as few transactions as possible."""
        self.check_open()
        return self.writer.run_many(operations)

    @contextmanager
    def exclusive(self) -> Iterator[Transaction]:
        """A transaction of the caller's own, which no other call shares."""
        self.check_open()
        with self.writer.exclusive() as transaction:
            yield transaction

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """A connection for reading what is committed, one caller at a time."""
        self.check_open()
        if self.path == MEMORY:
            with self.writer.alone() as connection:
                yield connection
            return
        with self._reading, translated(self.path):
            if self._reader is None:
                self._reader = self._connect_again()
            Place(self.path).check(self._reader)
            self._reads = get_ident()
            try:
                yield self._reader
            finally:
                self._reads = None

    def tidy(self) -> None:
        """Prunes a little of what was done long ago, if that is due; what fails is left for the next time."""
        if self.retention.is_due:
            with suppress(StoreError):
                self.write(self.retention.step)

    def putter(self, transaction: Transaction) -> Putter:
        """What puts messages in this transaction."""
        return Putter(transaction, self.file, self.keys, self.subscriptions, self._putting)

    @property
    def bell(self) -> Bell:
        """Rings after each commit that made something ready."""
        self.check_open()
        return self._bell

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Nobody else uses the bell meanwhile."""
        with self._lock:
            yield

    def close(self) -> None:
        """Closes the file; to close it twice is no mistake."""
        fork.OPEN.discard(self)
        if self._closed:
            return
        self._closed = True
        if self._to_open:
            return
        self.writer.close()
        if self._reader is not None:
            self._reader.close()
        with self._lock:
            self._bell.close()
            if self._mark is not None:
                self._mark.close()

    def before_fork(self) -> None:
        """Waits for what is being done, and closes the file until after the fork.

        SQLite keeps what it has locked in memory: a child that inherited an open file would believe that it holds locks
        which only its parent has, and write into a log that the parent removes. A thread that forks in the middle of a
        transaction of its own, or while it reads, keeps it; the child then has the queue closed.
        """
        if self._closed or self._to_open or self.path == MEMORY or self.writer.is_led_by_caller:
            return
        if self._reads == get_ident():
            return
        with ExitStack() as paused:
            connection = paused.enter_context(self.writer.alone())
            paused.enter_context(self._reading)
            paused.enter_context(self._lock)
            connection.close()
            if self._reader is not None:
                self._reader.close()
                self._reader = None
            self._paused = paused.pop_all()

    def after_fork_in_parent(self) -> None:
        """Opens the file again; if that cannot be, the queue is closed."""
        paused, self._paused = self._paused, None
        if paused is None:
            return
        with paused:
            try:
                self.writer.connection = connection = self._connect_again()
                if self._room is not None:
                    self._room.watch(connection)
            except StoreError:
                self._closed = True
                raise

    def after_fork_in_child(self) -> None:
        """What the parent has open is left alone, and the file is opened when it is first used."""
        if self._closed or self._to_open:
            return
        self._lock, self._opening = Lock(), Lock()
        self._left_behind += [self.writer, self._reader, self._mark, self._bell]
        self._reader = None
        self._to_open = self._paused is not None
        self._closed = not self._to_open
        if self._paused is not None:
            self._left_behind.append(self._paused.pop_all())
            self._paused = None

    def check_open(self) -> None:
        """Raises ``StoreError`` (``store-closed``); opens the file anew after a fork."""
        if self._closed:
            raise StoreError("store-closed", "the queue is closed", file=self.path)
        if self._to_open:
            with self._opening:
                if self._to_open:
                    self._open()
                    self._to_open = False

    def _committed(self, transaction: Transaction) -> None:
        self.quick.note(transaction)
        self._tell(transaction.commits, transaction.sequence, transaction.wake)

    def _tell(self, commits: int, sequence: int, wake: bool) -> None:
        if self._mark is not None:
            self._mark.write(commits, sequence)
        if wake and self._bell.is_awaited:
            with self._lock:
                self._bell.ring()

    def forget(self) -> None:
        """After a change that was undone, what is known may be wrong: it is read anew."""
        self.keys.forget()
        self.subscriptions.forget()
        self.interests.forget()


def _known_dialect(name: str, path: str) -> Dialect:
    try:
        return find_dialect(name)
    except PointsmanError as error:
        raise StoreError("store-damaged", f"the dialect of its keys: {error.problem}", file=path) from error


def _open_mark(path: str) -> MarkFile:
    try:
        return MarkFile(path)
    except StoreError:
        raise
    except OSError as error:
        raise StoreError("store-not-opened", f"the mark beside it: {error.strerror}", file=path) from error
